//! The data folder: who may use it, and the files in it.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use access::Master;
use anyhow::{Context, Result, anyhow, bail};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use domain::ids::World;
use domain::secret::Secret;
use store::SqlSettings;

use crate::config::{Config, TlsFiles};

const SETTINGS: &str = "settings.db";
const MASTER: &str = "master.key";
const FIRST_KEYS: &str = "first-keys";

pub(crate) struct DataFolder {
    path: PathBuf,
}

impl DataFolder {
    /// Makes the folder where it is missing, and sees that it can be written to.
    pub(crate) fn prepare(path: &Path) -> Result<DataFolder> {
        let remedy = || {
            format!(
                "the data folder `{}` cannot be used; choose another with `--data DIR`, or give this user the right to write there",
                path.display()
            )
        };
        fs::DirBuilder::new().recursive(true).mode(0o700).create(path).with_context(remedy)?;
        let probe = path.join(".writable");
        private(&probe).with_context(remedy)?;
        fs::remove_file(&probe).with_context(remedy)?;
        let path = path.canonicalize().with_context(remedy)?;
        Ok(DataFolder { path })
    }

    /// A folder that a server has filled before; where the settings are in a database, it need not be there.
    pub(crate) fn existing(config: &Config) -> Result<DataFolder> {
        let path = config.data();
        if config.database.is_elsewhere() || path.join(SETTINGS).is_file() {
            return Ok(DataFolder { path: std::path::absolute(path)? });
        }
        bail!(
            "there is no data in `{}`; start `gatehouse serve` once, or say where it is with `--data DIR`",
            path.display()
        )
    }

    /// Whether `prepare` could make the folder, without making it.
    pub(crate) fn could_be_made(path: &Path) -> Result<()> {
        let standing = path.ancestors().find(|above| above.exists()).unwrap_or(Path::new("."));
        let standing = if standing.as_os_str().is_empty() { Path::new(".") } else { standing };
        let probe = standing.join(".gatehouse-check");
        let made = private(&probe).and_then(|_| fs::remove_file(&probe));
        made.with_context(|| {
            format!("`{}` cannot be made: `{}` cannot be written to", path.display(), standing.display())
        })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// One server for each folder. The lock ends with the process, however that ends.
    pub(crate) fn lock(&self) -> Result<File> {
        let path = self.path.join("serve.lock");
        let file = private_or_existing(&path)?;
        match file.try_lock() {
            Ok(()) => Ok(file),
            Err(TryLockError::WouldBlock) => {
                bail!(
                    "another gatehouse serves `{}`; stop it, or use another folder with `--data DIR`",
                    self.path.display()
                )
            }
            Err(TryLockError::Error(error)) => Err(error).context("the data folder cannot be locked"),
        }
    }

    /// Opens the settings, wherever they are kept, and brings their tables up to date.
    pub(crate) async fn settings(&self, config: &Config) -> Result<SqlSettings> {
        match config.database.address(&self.tls_files(config)?)? {
            None => self.settings_here().await,
            Some(address) => {
                let opened = SqlSettings::open_postgres(address.expose(), config.database.pool_size).await;
                opened.context("the database cannot be opened; look at DATABASE_URL or DB_HOST, DB_USER, DB_SSL …")
            }
        }
    }

    /// Looks at the settings without changing them.
    pub(crate) async fn look(&self, config: &Config) -> Result<SqlSettings> {
        let looked = match config.database.address(&self.tls_files(config)?)? {
            None => SqlSettings::look_at_file(&self.path.join(SETTINGS)).await,
            Some(address) => SqlSettings::look_at_postgres(address.expose()).await,
        };
        looked.context("the settings cannot be opened")
    }

    /// What TLS to the database needs, as files: the driver takes nothing else.
    fn tls_files(&self, config: &Config) -> Result<TlsFiles> {
        let database = &config.database;
        let file = |name: &str, value: &str| -> Result<Option<String>> {
            if value.is_empty() {
                return Ok(None);
            }
            if !value.trim_start().starts_with("-----BEGIN") {
                fs::metadata(value)
                    .with_context(|| format!("`{value}`, named for TLS to the database, cannot be read"))?;
                return Ok(Some(value.to_owned()));
            }
            fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.path)?;
            self.keep(Path::new(name), &Secret::new(value.replace("\\n", "\n")))?;
            Ok(Some(self.path.join(name).to_string_lossy().into_owned()))
        };
        Ok(TlsFiles {
            ca: file("database-ca.pem", &database.ssl_ca)?,
            cert: file("database-cert.pem", &database.ssl_cert)?,
            key: file("database-key.pem", database.ssl_key.expose())?,
        })
    }

    /// In the folder itself, one process at a time.
    async fn settings_here(&self) -> Result<SqlSettings> {
        let path = self.path.join(SETTINGS);
        // Made here so that nobody else may read it; SQLite's own files beside it follow its mode.
        drop(private_or_existing(&path)?);
        let turn = private_or_existing(&self.path.join("migrate.lock"))?;
        let turn = tokio::task::spawn_blocking(move || turn.lock().map(|()| turn)).await?;
        let turn = turn.context("the data folder cannot be locked")?;
        let opened = SqlSettings::open_file(&path).await;
        drop(turn);
        opened.with_context(|| format!("the settings in `{}` cannot be opened", path.display()))
    }

    /// The master key in the folder, if there is one.
    pub(crate) fn master(&self) -> Result<Option<Master>> {
        let path = self.path.join(MASTER);
        match fs::read_to_string(&path) {
            Ok(text) => {
                let master = Master::new(Secret::new(text.trim()));
                Ok(Some(master.map_err(|bad| anyhow!("`{}`: {bad}", path.display()))?))
            }
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error).with_context(|| format!("`{}` cannot be read", path.display())),
        }
    }

    pub(crate) fn master_path(&self) -> PathBuf {
        self.path.join(MASTER)
    }

    /// Makes a master key and keeps it.
    pub(crate) fn make_master(&self, world: &dyn World) -> Result<Master> {
        let mut random = [0; 32];
        world.random(&mut random);
        let text = Secret::new(STANDARD.encode(random));
        self.keep(Path::new(MASTER), &text)?;
        Ok(Master::new(text)?)
    }

    /// Where a key of the first start is kept.
    pub(crate) fn first_key(&self, name: &str) -> PathBuf {
        self.path.join(FIRST_KEYS).join(name)
    }

    pub(crate) fn keep_first_key(&self, name: &str, key: &Secret) -> Result<()> {
        let folder = self.path.join(FIRST_KEYS);
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&folder)?;
        self.keep(&Path::new(FIRST_KEYS).join(name), key)
    }

    /// Another node was first: the keys that were made here are none.
    pub(crate) fn forget_first_keys(&self) {
        for name in ["admin", "workspace"] {
            fs::remove_file(self.first_key(name)).unwrap_or_default();
        }
    }

    /// Writes a secret so that it is there whole or not at all, and only this user may read it.
    fn keep(&self, name: &Path, secret: &Secret) -> Result<()> {
        let path = self.path.join(name);
        let fresh = path.with_extension("new");
        let written = (|| {
            let mut file = private(&fresh)?;
            file.write_all(secret.expose().as_bytes())?;
            file.write_all(b"\n")?;
            file.sync_all()?;
            fs::rename(&fresh, &path)
        })();
        written.with_context(|| format!("`{}` cannot be written", path.display()))
    }
}

fn private(path: &Path) -> std::io::Result<File> {
    OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)
}

fn private_or_existing(path: &Path) -> Result<File> {
    let open = OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(path);
    open.with_context(|| format!("`{}` cannot be opened for writing", path.display()))
}
