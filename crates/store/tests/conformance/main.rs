//! Promises every backend of the settings keeps. Each is written once and run for each backend.

#![expect(clippy::unwrap_used, reason = "every function here is a test, run by the macro at the end")]

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use serde_json::json;
use store::{Audit, Change, Filter, Page, Record, Settings, SqlSettings, StoreError};

const ALL: Page = Page { offset: 0, limit: 100 };

fn record(id: &str, organisation: &str) -> Record {
    Record {
        kind: "label".into(),
        id: id.into(),
        organisation: organisation.into(),
        workspace: Some("w1".into()),
        handle: Some(format!("handle-{id}")),
        status: Record::ACTIVE.into(),
        version: 1,
        doc: json!({ "name": id, "big": 12_345_678_901_234_567_890_u64 }),
        created_at: 1,
        updated_at: 1,
    }
}

fn audit(organisation: &str) -> Audit {
    Audit {
        organisation: organisation.into(),
        at: 7,
        actor: "tester".into(),
        action: "create".into(),
        target_kind: "label".into(),
        target_id: "x".into(),
        address: "127.0.0.1".into(),
        detail: json!({ "why": "a promise" }),
    }
}

async fn insert(store: &dyn Settings, id: &str, organisation: &str) -> Result<i64, StoreError> {
    store.commit(vec![Change::Insert(record(id, organisation))], audit(organisation)).await
}

async fn what_was_written_is_read_by_id_and_by_handle(store: &dyn Settings) {
    insert(store, "a", "o1").await.unwrap();
    for name in ["a", "handle-a"] {
        assert_eq!(store.get("label", "o1", name).await.unwrap(), Some(record("a", "o1")), "{name}");
    }
    assert_eq!(store.find("label", "handle-a").await.unwrap(), Some(record("a", "o1")));
}

async fn another_organisation_does_not_see_it(store: &dyn Settings) {
    insert(store, "b", "o1").await.unwrap();
    assert_eq!(store.get("label", "o2", "b").await.unwrap(), None);
    assert_eq!(store.list("label", "o2", Filter::default(), ALL).await.unwrap(), (vec![], 0));
}

async fn a_stale_write_is_refused_and_changes_nothing(store: &dyn Settings) {
    insert(store, "c", "o1").await.unwrap();
    let mut first = record("c", "o1");
    first.doc = json!({ "n": 1 });
    store.commit(vec![Change::Replace(first.clone())], audit("o1")).await.unwrap();
    first.doc = json!({ "n": 2 });
    let late = store.commit(vec![Change::Insert(record("c2", "o1")), Change::Replace(first)], audit("o1")).await;
    assert!(matches!(late, Err(StoreError::Stale)), "{late:?}");
    let kept = store.get("label", "o1", "c").await.unwrap().unwrap();
    assert_eq!((kept.version, kept.doc), (2, json!({ "n": 1 })));
    assert_eq!(store.get("label", "o1", "c2").await.unwrap(), None, "half of a refused commit");
}

async fn a_handle_is_taken_once_in_an_organisation(store: &dyn Settings) {
    insert(store, "d", "o1").await.unwrap();
    let mut twin = record("d2", "o1");
    twin.handle = Some("handle-d".into());
    let taken = store.commit(vec![Change::Insert(twin)], audit("o1")).await;
    assert!(matches!(taken, Err(StoreError::Exists)), "{taken:?}");
    let mut elsewhere = record("d3", "o2");
    elsewhere.handle = Some("handle-d".into());
    store.commit(vec![Change::Insert(elsewhere)], audit("o2")).await.unwrap();
}

async fn the_feed_tells_each_commit_once_and_in_order(store: &dyn Settings) {
    let before = store.revision().await.unwrap();
    let first = insert(store, "e1", "o1").await.unwrap();
    let second = insert(store, "e2", "o1").await.unwrap();
    store.commit(vec![Change::Delete { kind: "label".into(), id: "e1".into() }], audit("o1")).await.unwrap();
    let noted = store.changes(before, 100).await.unwrap();
    let told: Vec<_> = noted.iter().map(|note| (note.revision, note.id.as_str())).collect();
    assert_eq!(told, [(first, "e1"), (second, "e2"), (second + 1, "e1")]);
    assert_eq!(first, before + 1);
    assert_eq!(store.revision().await.unwrap(), second + 1);
}

async fn lists_are_filtered_paged_and_counted_whole(store: &dyn Settings) {
    for at in 0..5 {
        let mut one = record(&format!("f{at}"), "o1");
        one.created_at = at;
        one.workspace = Some(if at % 2 == 0 { "even" } else { "odd" }.into());
        store.commit(vec![Change::Insert(one)], audit("o1")).await.unwrap();
    }
    let filter = Filter { workspace: Some("even"), status: Some(Record::ACTIVE) };
    let (page, total) = store.list("label", "o1", filter, Page { offset: 1, limit: 1 }).await.unwrap();
    assert_eq!((page[0].id.as_str(), page.len(), total), ("f2", 1, 3));
    let swept = store.sweep("label", "f1", 2).await.unwrap();
    assert_eq!(swept.iter().map(|record| record.id.as_str()).collect::<Vec<_>>(), ["f2", "f3"]);
}

async fn racing_commits_get_different_revisions_and_an_unbroken_chain(store: &dyn Settings) {
    let racers = (0..20).map(|at| {
        let id = format!("g{at}");
        async move { insert(store, &id, "o1").await.unwrap() }
    });
    let mut revisions = futures(racers).await;
    revisions.sort_unstable();
    revisions.dedup();
    assert_eq!(revisions.len(), 20);
    assert_eq!(store.broken_audit_line("o1").await.unwrap(), None);
}

/// Runs all at once.
async fn futures<F: Future<Output = i64>>(all: impl Iterator<Item = F>) -> Vec<i64> {
    let mut running: Vec<_> = all.map(Box::pin).collect();
    let mut done: Vec<Option<i64>> = running.iter().map(|_| None).collect();
    std::future::poll_fn(move |cx| {
        for (future, slot) in running.iter_mut().zip(&mut done) {
            if slot.is_none()
                && let std::task::Poll::Ready(value) = future.as_mut().poll(cx)
            {
                *slot = Some(value);
            }
        }
        match done.iter().all(Option::is_some) {
            true => std::task::Poll::Ready(done.iter().flatten().copied().collect()),
            false => std::task::Poll::Pending,
        }
    })
    .await
}

/// A new database in the PostgreSQL of the test run. There is no run without one.
async fn fresh_postgres() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    #[expect(clippy::disallowed_methods, reason = "says where the database under test is")]
    let url = std::env::var("TEST_DATABASE_URL");
    let url =
        url.expect("TEST_DATABASE_URL is not set; run `cargo xtask test`, or `cargo xtask rig cargo test -p store`");
    let name = format!("conformance_{}_{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
    sqlx::any::install_default_drivers();
    let pool = sqlx::AnyPool::connect(&url).await.unwrap();
    sqlx::query(sqlx::AssertSqlSafe(format!("create database {name}"))).execute(&pool).await.unwrap();
    pool.close().await;
    let (server, _) = url.rsplit_once('/').unwrap();
    format!("{server}/{name}")
}

macro_rules! promises {
    ($($promise:ident)*) => {
        mod postgres {
            $(#[tokio::test]
            async fn $promise() {
                let store = super::SqlSettings::open_postgres(&super::fresh_postgres().await, 4).await.unwrap();
                super::$promise(&store).await;
                store.close().await;
            })*
        }
        mod sqlite {
            $(#[tokio::test]
            async fn $promise() {
                let folder = tempfile::tempdir().unwrap();
                let store = super::SqlSettings::open_file(&folder.path().join("a b?#%.db")).await.unwrap();
                super::$promise(&store).await;
            })*
        }
    };
}

promises! {
    what_was_written_is_read_by_id_and_by_handle
    another_organisation_does_not_see_it
    a_stale_write_is_refused_and_changes_nothing
    a_handle_is_taken_once_in_an_organisation
    the_feed_tells_each_commit_once_and_in_order
    lists_are_filtered_paged_and_counted_whole
    racing_commits_get_different_revisions_and_an_unbroken_chain
}

#[tokio::test]
async fn nodes_that_open_a_new_database_together_take_turns() {
    let url = fresh_postgres().await;
    let openings = (0..6).map(|_| {
        let url = url.clone();
        tokio::spawn(async move { SqlSettings::open_postgres(&url, 2).await.map(|store| store.steps()) })
    });
    let mut first = 0;
    for opening in openings.collect::<Vec<_>>() {
        let steps = opening.await.unwrap().unwrap();
        assert_eq!(steps.after, 1);
        first += usize::from(steps.before == 0);
    }
    assert!(first >= 1);
}

#[tokio::test]
async fn a_commit_on_one_node_is_noticed_on_another() {
    let url = fresh_postgres().await;
    let (one, other) =
        (SqlSettings::open_postgres(&url, 2).await.unwrap(), SqlSettings::open_postgres(&url, 2).await.unwrap());
    let mut notices = other.notices();
    let hearing = tokio::spawn(async move { notices.next().await });
    // Listening begins at some moment; until then commits are not heard.
    let mut number = 0;
    while !hearing.is_finished() {
        insert(&one, &format!("n{number}"), "o1").await.unwrap();
        number += 1;
        assert!(number < 1000, "no commit was noticed");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    hearing.await.unwrap().unwrap();
    assert!(!other.changes(0, 10).await.unwrap().is_empty());
}

#[tokio::test]
async fn a_second_opening_finds_what_the_first_wrote() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.db");
    let first = SqlSettings::open_file(&path).await.unwrap();
    insert(&first, "a", "o1").await.unwrap();
    first.close().await;
    let second = SqlSettings::open_file(&path).await.unwrap();
    assert!(second.get("label", "o1", "a").await.unwrap().is_some());
}

#[tokio::test]
async fn a_changed_byte_in_the_audit_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.db");
    let store = SqlSettings::open_file(&path).await.unwrap();
    for id in ["a", "b", "c"] {
        insert(&store, id, "o1").await.unwrap();
    }
    assert_eq!(store.broken_audit_line("o1").await.unwrap(), None);
    for (tampering, line) in [
        ("update audit set actor = 'somebody' where seq = 2", 2),
        ("update audit set actor = 'tester', at = 8 where seq = 2", 2),
        ("delete from audit where seq = 3", 2),
    ] {
        sqlx::any::install_default_drivers();
        let pool = sqlx::AnyPool::connect(&format!("sqlite://{}", path.display())).await.unwrap();
        sqlx::query(tampering).execute(&pool).await.unwrap();
        assert_eq!(store.broken_audit_line("o1").await.unwrap(), Some(line), "{tampering}");
    }
}
