//! One SQL text for two databases, through `sqlx::Any`.
//!
//! Only `text`, `bigint` and `$n` travel: JSON is text, a flag is 0 or 1, time is milliseconds. A transaction that reads
//! and then writes takes the write lock at its start; the row of `heads` is that lock where the database has none.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC};
use sqlx::any::{AnyConnectOptions, AnyPoolOptions, AnyRow};
use sqlx::postgres::PgListener;
use sqlx::{Any, AnyPool, Executor, Row, Transaction};

use super::migrations::MIGRATIONS;
use super::{Audit, Change, Filter, Noted, Page, Record, Settings, StoreError};

const COLUMNS: &str = "kind, id, organisation, workspace, handle, status, version, doc, created_at, updated_at";

/// Whatever is encoded by this set could otherwise be read as part of the URL's grammar.
const NOT_GRAMMAR: AsciiSet = NON_ALPHANUMERIC.remove(b'/').remove(b'-').remove(b'_').remove(b'.');

/// Told to other nodes with every commit, where the database can tell.
const CHANNEL: &str = "gatehouse_settings";

#[derive(Clone)]
pub struct SqlSettings {
    pool: AnyPool,
    database: Database,
    steps: Steps,
}

/// Steps of the tables before and after opening.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Steps {
    pub before: usize,
    pub after: usize,
}

#[derive(Clone)]
enum Database {
    Sqlite,
    /// The address, for the connection that listens.
    Postgres(Arc<str>),
}

impl SqlSettings {
    /// Opens (and makes, where missing) a database file, and brings its tables up to date.
    pub async fn open_file(path: &Path) -> Result<SqlSettings, StoreError> {
        SqlSettings::open(&file_url(path, "rwc"), 4).await
    }

    /// Opens a PostgreSQL database and brings its tables up to date; nodes that start together take turns.
    pub async fn open_postgres(url: &str, connections: u32) -> Result<SqlSettings, StoreError> {
        SqlSettings::open(url, connections).await
    }

    async fn open(url: &str, connections: u32) -> Result<SqlSettings, StoreError> {
        let mut settings = SqlSettings::connect(url, connections).await?;
        MIGRATIONS.run(&settings.pool).await?;
        settings.steps.after = applied(&settings.pool).await;
        Ok(settings)
    }

    /// Looks at a file that is there without changing anything: its tables may be older than this program.
    pub async fn look_at_file(path: &Path) -> Result<SqlSettings, StoreError> {
        SqlSettings::connect(&file_url(path, "rw"), 1).await
    }

    /// The same for PostgreSQL.
    pub async fn look_at_postgres(url: &str) -> Result<SqlSettings, StoreError> {
        SqlSettings::connect(url, 1).await
    }

    async fn connect(url: &str, connections: u32) -> Result<SqlSettings, StoreError> {
        sqlx::any::install_default_drivers();
        let sqlite = url.starts_with("sqlite:");
        let pool = AnyPoolOptions::new()
            .max_connections(connections)
            .acquire_timeout(Duration::from_secs(5))
            .after_connect(move |connection, _| {
                Box::pin(async move {
                    if sqlite {
                        // Per connection. `full` keeps a committed change over a power cut.
                        connection
                            .execute("pragma journal_mode = wal; pragma synchronous = full; pragma busy_timeout = 5000")
                            .await?;
                    }
                    Ok(())
                })
            })
            .connect_with(url.parse::<AnyConnectOptions>()?)
            .await?;
        let before = applied(&pool).await;
        let steps = Steps { before, after: before };
        let database = if sqlite { Database::Sqlite } else { Database::Postgres(url.into()) };
        Ok(SqlSettings { pool, database, steps })
    }

    pub fn steps(&self) -> Steps {
        self.steps
    }

    /// Tells when another node has committed something.
    pub fn notices(&self) -> Notices {
        let url = match &self.database {
            Database::Sqlite => None,
            Database::Postgres(url) => Some(url.clone()),
        };
        Notices { url, listener: None }
    }

    /// Lets go of the database; called before the process ends so that the file is left tidy.
    pub async fn close(&self) {
        self.pool.close().await;
    }

    async fn begin(&self) -> Result<Transaction<'static, Any>, sqlx::Error> {
        match self.database {
            Database::Sqlite => self.pool.begin_with("begin immediate").await,
            Database::Postgres(_) => self.pool.begin().await,
        }
    }
}

/// Notices of commits, where the database has them. They can get lost, so the feed is also looked at now and then.
pub struct Notices {
    url: Option<Arc<str>>,
    listener: Option<PgListener>,
}

impl Notices {
    /// Done when something was committed; never, where the database cannot tell. An error means that notices may have
    /// been missed.
    pub async fn next(&mut self) -> Result<(), StoreError> {
        let Some(url) = &self.url else { return std::future::pending().await };
        let listener = match &mut self.listener {
            Some(listener) => listener,
            none => {
                let mut listener = PgListener::connect(url).await?;
                listener.listen(CHANNEL).await?;
                none.insert(listener)
            }
        };
        // Reconnects by itself, once; what fails then is told.
        match listener.recv().await {
            Ok(_) => Ok(()),
            Err(error) => {
                self.listener = None;
                Err(error.into())
            }
        }
    }
}

fn file_url(path: &Path, mode: &str) -> String {
    let path = path.to_string_lossy();
    let encoded = percent_encoding::utf8_percent_encode(&path, const { &NOT_GRAMMAR });
    format!("sqlite://{encoded}?mode={mode}")
}

/// How many steps the tables have taken; none, where there are no tables yet.
async fn applied(pool: &AnyPool) -> usize {
    let count = sqlx::query("select cast(count(*) as bigint) from _sqlx_migrations").fetch_one(pool).await;
    count.and_then(|row| row.try_get::<i64, _>(0)).map_or(0, |count| count as usize)
}

#[async_trait]
impl Settings for SqlSettings {
    async fn get(&self, kind: &str, organisation: &str, id_or_handle: &str) -> Result<Option<Record>, StoreError> {
        let sql = format!(
            "select {COLUMNS} from records where kind = $1 and organisation = $2 and (id = $3 or handle = $3) limit 1"
        );
        let row = sqlx::query(sqlx::AssertSqlSafe(sql)).bind(kind).bind(organisation).bind(id_or_handle);
        row.fetch_optional(&self.pool).await?.map(|row| record(&row)).transpose()
    }

    async fn find(&self, kind: &str, handle: &str) -> Result<Option<Record>, StoreError> {
        let sql = format!("select {COLUMNS} from records where kind = $1 and handle = $2 limit 1");
        let row = sqlx::query(sqlx::AssertSqlSafe(sql)).bind(kind).bind(handle);
        row.fetch_optional(&self.pool).await?.map(|row| record(&row)).transpose()
    }

    async fn list(
        &self,
        kind: &str,
        organisation: &str,
        filter: Filter<'_>,
        page: Page,
    ) -> Result<(Vec<Record>, i64), StoreError> {
        // The casts tell the type of a null parameter.
        let matching = "from records where kind = $1 and organisation = $2
             and (cast($3 as text) is null or workspace = cast($3 as text))
             and (cast($4 as text) is null or status = cast($4 as text))";
        let rows = sqlx::query(sqlx::AssertSqlSafe(format!(
            "select {COLUMNS} {matching} order by created_at desc, id limit $5 offset $6"
        )));
        let rows = rows.bind(kind).bind(organisation).bind(filter.workspace).bind(filter.status);
        let rows = rows.bind(page.limit).bind(page.offset).fetch_all(&self.pool).await?;
        let total = sqlx::query(sqlx::AssertSqlSafe(format!("select cast(count(*) as bigint) {matching}")));
        let total = total.bind(kind).bind(organisation).bind(filter.workspace).bind(filter.status);
        let total: i64 = total.fetch_one(&self.pool).await?.try_get(0)?;
        Ok((rows.iter().map(record).collect::<Result<_, _>>()?, total))
    }

    async fn sweep(&self, kind: &str, after: &str, limit: i64) -> Result<Vec<Record>, StoreError> {
        let sql = format!("select {COLUMNS} from records where kind = $1 and id > $2 order by id limit $3");
        let rows = sqlx::query(sqlx::AssertSqlSafe(sql)).bind(kind).bind(after).bind(limit);
        rows.fetch_all(&self.pool).await?.iter().map(record).collect()
    }

    async fn commit(&self, changes: Vec<Change>, audit: Audit) -> Result<i64, StoreError> {
        let mut work = self.begin().await?;
        let revision = next_revision(&mut work).await?;
        for (place, change) in changes.iter().enumerate() {
            apply(&mut work, change).await?;
            note(&mut work, revision, place as i64, change, &audit).await?;
        }
        chain(&mut work, &audit).await?;
        if let Database::Postgres(_) = self.database {
            // Delivered when the transaction is committed, and only then.
            sqlx::query("notify gatehouse_settings").execute(&mut *work).await?;
        }
        work.commit().await?;
        Ok(revision)
    }

    async fn changes(&self, after: i64, limit: i64) -> Result<Vec<Noted>, StoreError> {
        let rows = sqlx::query(
            "select revision, kind, id, organisation from changes where revision > $1 order by revision, place limit $2",
        );
        let rows = rows.bind(after).bind(limit).fetch_all(&self.pool).await?;
        let noted = |row: &AnyRow| {
            Ok(Noted {
                revision: row.try_get(0)?,
                kind: row.try_get(1)?,
                id: row.try_get(2)?,
                organisation: row.try_get(3)?,
            })
        };
        rows.iter().map(noted).collect()
    }

    async fn revision(&self) -> Result<i64, StoreError> {
        let row = sqlx::query("select value from heads where name = 'settings'").fetch_one(&self.pool).await?;
        Ok(row.try_get(0)?)
    }

    async fn broken_audit_line(&self, organisation: &str) -> Result<Option<i64>, StoreError> {
        let rows = sqlx::query(
            "select seq, at, actor, action, target_kind, target_id, address, detail, previous, hash
             from audit where organisation = $1 order by seq",
        );
        let rows = rows.bind(organisation).fetch_all(&self.pool).await?;
        let (mut expected, mut previous) = (1, String::new());
        for row in &rows {
            let seq: i64 = row.try_get(0)?;
            let detail: String = row.try_get(7)?;
            let line = Audit {
                organisation: organisation.to_owned(),
                at: row.try_get(1)?,
                actor: row.try_get(2)?,
                action: row.try_get(3)?,
                target_kind: row.try_get(4)?,
                target_id: row.try_get(5)?,
                address: row.try_get(6)?,
                detail: serde_json::Value::Null,
            };
            let hash: String = row.try_get(9)?;
            let told: String = row.try_get(8)?;
            if seq != expected || told != previous || line.hash(seq, &previous, &detail) != hash {
                return Ok(Some(expected));
            }
            (expected, previous) = (expected + 1, hash);
        }
        let head = sqlx::query("select value, hash from heads where name = $1").bind(chain_name(organisation));
        match head.fetch_optional(&self.pool).await? {
            Some(row) if row.try_get::<i64, _>(0)? != expected - 1 || row.try_get::<String, _>(1)? != previous => {
                Ok(Some(expected))
            }
            _ => Ok(None),
        }
    }
}

/// Also the lock that puts commits into one order: a second one waits here for the first.
async fn next_revision(work: &mut Transaction<'static, Any>) -> Result<i64, StoreError> {
    let raised = sqlx::query("update heads set value = value + 1 where name = 'settings' returning value");
    Ok(raised.fetch_one(&mut **work).await?.try_get(0)?)
}

async fn apply(work: &mut Transaction<'static, Any>, change: &Change) -> Result<(), StoreError> {
    match change {
        Change::Insert(record) => {
            let sql = format!("insert into records ({COLUMNS}) values ($1, $2, $3, $4, $5, $6, 1, $7, $8, $9)");
            let insert = sqlx::query(sqlx::AssertSqlSafe(sql));
            let insert = insert.bind(&record.kind).bind(&record.id).bind(&record.organisation).bind(&record.workspace);
            let insert = insert.bind(&record.handle).bind(&record.status).bind(record.doc.to_string());
            let done = insert.bind(record.created_at).bind(record.updated_at).execute(&mut **work).await;
            done.map(drop).map_err(taken)
        }
        Change::Replace(record) => {
            let update = sqlx::query(
                "update records set workspace = $1, handle = $2, status = $3, doc = $4, updated_at = $5, version = version + 1
                 where kind = $6 and id = $7 and organisation = $8 and version = $9",
            );
            let update = update.bind(&record.workspace).bind(&record.handle).bind(&record.status);
            let update = update.bind(record.doc.to_string()).bind(record.updated_at).bind(&record.kind);
            let update = update.bind(&record.id).bind(&record.organisation).bind(record.version);
            changed_one(update.execute(&mut **work).await.map_err(taken)?.rows_affected())
        }
        Change::Delete { kind, id } => {
            let delete = sqlx::query("delete from records where kind = $1 and id = $2").bind(kind).bind(id);
            changed_one(delete.execute(&mut **work).await?.rows_affected())
        }
    }
}

fn changed_one(rows: u64) -> Result<(), StoreError> {
    if rows == 1 { Ok(()) } else { Err(StoreError::Stale) }
}

fn taken(error: sqlx::Error) -> StoreError {
    match error.as_database_error() {
        Some(database) if database.is_unique_violation() => StoreError::Exists,
        _ => error.into(),
    }
}

async fn note(
    work: &mut Transaction<'static, Any>,
    revision: i64,
    place: i64,
    change: &Change,
    audit: &Audit,
) -> Result<(), StoreError> {
    let (kind, id) = match change {
        Change::Insert(record) | Change::Replace(record) => (&record.kind, &record.id),
        Change::Delete { kind, id } => (kind, id),
    };
    let line = sqlx::query(
        "insert into changes (revision, place, kind, id, organisation, at) values ($1, $2, $3, $4, $5, $6)",
    );
    let line = line.bind(revision).bind(place).bind(kind).bind(id).bind(&audit.organisation).bind(audit.at);
    line.execute(&mut **work).await?;
    Ok(())
}

fn chain_name(organisation: &str) -> String {
    format!("audit:{organisation}")
}

async fn chain(work: &mut Transaction<'static, Any>, audit: &Audit) -> Result<(), StoreError> {
    let name = chain_name(&audit.organisation);
    let head = sqlx::query("select value, hash from heads where name = $1").bind(&name);
    let (seq, previous) = match head.fetch_optional(&mut **work).await? {
        Some(row) => (row.try_get::<i64, _>(0)? + 1, row.try_get::<String, _>(1)?),
        None => (1, String::new()),
    };
    let detail = audit.detail.to_string();
    let hash = audit.hash(seq, &previous, &detail);
    let line = sqlx::query(
        "insert into audit (organisation, seq, at, actor, action, target_kind, target_id, address, detail, previous, hash)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)",
    );
    let line = line.bind(&audit.organisation).bind(seq).bind(audit.at).bind(&audit.actor).bind(&audit.action);
    let line = line.bind(&audit.target_kind).bind(&audit.target_id).bind(&audit.address).bind(detail);
    line.bind(previous).bind(&hash).execute(&mut **work).await?;
    let raise = sqlx::query(
        "insert into heads (name, value, hash) values ($1, $2, $3)
         on conflict (name) do update set value = excluded.value, hash = excluded.hash",
    );
    raise.bind(name).bind(seq).bind(hash).execute(&mut **work).await?;
    Ok(())
}

fn record(row: &AnyRow) -> Result<Record, StoreError> {
    let doc: String = row.try_get(7)?;
    Ok(Record {
        kind: row.try_get(0)?,
        id: row.try_get(1)?,
        organisation: row.try_get(2)?,
        workspace: row.try_get(3)?,
        handle: row.try_get(4)?,
        status: row.try_get(5)?,
        version: row.try_get(6)?,
        doc: serde_json::from_str(&doc).map_err(|error| StoreError::Garbled(error.to_string()))?,
        created_at: row.try_get(8)?,
        updated_at: row.try_get(9)?,
    })
}
