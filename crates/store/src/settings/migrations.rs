//! The steps that bring a database up to date. Forward only; a step that was released is never edited.

use std::sync::LazyLock;

use sqlx::SqlSafeStr;
use sqlx::migrate::{Migration, MigrationType, Migrator};

/// Listed by hand: the macro that would find them builds both database drivers a second time.
pub(super) static MIGRATIONS: LazyLock<Migrator> = LazyLock::new(|| {
    let one = |version, name: &'static str, sql: &'static str| {
        Migration::new(version, name.into(), MigrationType::Simple, sql.into_sql_str(), false)
    };
    Migrator::with_migrations(vec![one(1, "settings", include_str!("../../migrations/0001_settings.sql"))])
});
