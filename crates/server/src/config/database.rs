//! Which database, and how it is reached.

use domain::secret::Secret;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

use super::sources::{BadSetting, bad};

/// Modes as operators write them, and as the driver does.
const MODES: &[(&str, &str)] = &[
    ("DISABLED", "disable"),
    ("PREFERRED", "prefer"),
    ("REQUIRED", "require"),
    ("VERIFY_CA", "verify-ca"),
    ("VERIFY_IDENTITY", "verify-full"),
];

/// The parts of `[database]` that make an address.
pub(super) struct Parts<'a> {
    pub(super) url: &'a str,
    pub(super) host: &'a str,
    pub(super) port: u16,
    pub(super) user: &'a str,
    pub(super) password: &'a str,
    pub(super) name: &'a str,
    pub(super) ssl: &'a str,
}

/// Files that hold what TLS needs.
#[derive(Debug, Default)]
pub(crate) struct TlsFiles {
    pub(crate) ca: Option<String>,
    pub(crate) cert: Option<String>,
    pub(crate) key: Option<String>,
}

impl Parts<'_> {
    /// `None` where the data stays in the data folder.
    pub(super) fn address(&self, files: &TlsFiles) -> Result<Option<Secret>, BadSetting> {
        let mode = self.mode()?;
        let mut address = match (self.url, self.host) {
            ("", "") => return Ok(None),
            ("", host) => self.in_parts(host)?,
            (url, _) if url.starts_with("postgres://") || url.starts_with("postgresql://") => url.to_owned(),
            _ => {
                return Err(bad(
                    "`database.url` (DATABASE_URL) must begin with `postgres://`; no other database is known",
                ));
            }
        };
        let mut add = |name: &str, value: &str| {
            let sign = if address.contains('?') { '&' } else { '?' };
            address.push_str(&format!("{sign}{name}={}", encoded(value)));
        };
        if let Some(mode) = mode {
            add("sslmode", mode);
        }
        for (name, file) in [("sslrootcert", &files.ca), ("sslcert", &files.cert), ("sslkey", &files.key)] {
            if let Some(file) = file {
                add(name, file);
            }
        }
        Ok(Some(Secret::new(address)))
    }

    fn mode(&self) -> Result<Option<&'static str>, BadSetting> {
        if self.ssl.is_empty() {
            return Ok(None);
        }
        let known = MODES.iter().find(|(ours, _)| ours.eq_ignore_ascii_case(self.ssl));
        let all = || MODES.iter().map(|(ours, _)| *ours).collect::<Vec<_>>().join("`, `");
        known
            .map(|(_, mode)| Some(*mode))
            .ok_or_else(|| bad(format!("`database.ssl` (DB_SSL) must be one of `{}`", all())))
    }

    fn in_parts(&self, host: &str) -> Result<String, BadSetting> {
        for (setting, value) in [("user (DB_USER)", self.user), ("name (DB_NAME)", self.name)] {
            if value.is_empty() {
                return Err(bad(format!("`database.host` is set, but `database.{setting}` is not")));
            }
        }
        let (user, password, name) = (encoded(self.user), encoded(self.password), encoded(self.name));
        let host = if host.contains(':') && !host.starts_with('[') { format!("[{host}]") } else { host.to_owned() };
        Ok(format!("postgres://{user}:{password}@{host}:{}/{name}", self.port))
    }
}

fn encoded(text: &str) -> String {
    utf8_percent_encode(text, NON_ALPHANUMERIC).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOTHING: Parts<'_> = Parts { url: "", host: "", port: 5432, user: "", password: "", name: "", ssl: "" };

    fn address(parts: &Parts<'_>) -> Result<Option<String>, String> {
        let files = TlsFiles { ca: Some("/a b/ca.pem".into()), ..TlsFiles::default() };
        let address = parts.address(&files).map_err(|bad| bad.to_string())?;
        Ok(address.map(|address| address.expose().to_owned()))
    }

    #[test]
    fn parts_make_an_address_whatever_a_password_holds() {
        let parts = Parts { host: "db", user: "us er", password: "p@s/s?#%", name: "n", ssl: "verify_ca", ..NOTHING };
        let expected =
            "postgres://us%20er:p%40s%2Fs%3F%23%25@db:5432/n?sslmode=verify%2Dca&sslrootcert=%2Fa%20b%2Fca%2Epem";
        assert_eq!(address(&parts).unwrap().unwrap(), expected);
        assert_eq!(address(&NOTHING).unwrap(), None);
    }

    #[test]
    fn a_url_keeps_its_words_and_gains_the_mode() {
        let parts = Parts { url: "postgres://u@h/d?application_name=x", ssl: "REQUIRED", ..NOTHING };
        let made = address(&parts).unwrap().unwrap();
        assert!(made.starts_with("postgres://u@h/d?application_name=x&sslmode=require&sslrootcert="), "{made}");
    }

    #[test]
    fn what_cannot_be_used_is_refused_without_its_secret() {
        for parts in [
            Parts { url: "mysql://u:canary@h/d", ..NOTHING },
            Parts { host: "db", password: "canary", name: "n", ..NOTHING },
            Parts { host: "db", password: "canary", user: "u", ..NOTHING },
            Parts { url: "postgres://u:canary@h/d", ssl: "perhaps", ..NOTHING },
        ] {
            let refusal = address(&parts).unwrap_err();
            assert!(!refusal.contains("canary"), "{refusal}");
        }
    }
}
