//! `gatehouse keys …`: makes, lists and ends keys in the store. A running server notices within two seconds.

use std::io::{IsTerminal, Write, stdout};

use access::{NewKey, fresh_key};
use anyhow::{Context, Result, anyhow, bail};
use domain::ids::{World, parse_time, rfc3339};
use domain::key::Kind;
use domain::records::{ApiKey, kinds};
use domain::scope;
use serde_json::{Value, json};
use store::{Audit, Change, Filter, Page, Record, Settings, SqlSettings};

use crate::bootstrap::{self, Home};
use crate::cli::{CreateKey, KeyKind, KeysCommand, ListKeys, RevokeKey};
use crate::config::Config;
use crate::data::DataFolder;
use crate::world::Real;

const PAGE: i64 = 500;

pub(crate) async fn run(config: &Config, command: &KeysCommand) -> Result<()> {
    let folder = DataFolder::existing(config)?;
    let settings = folder.settings(config).await?;
    let home = bootstrap::home(&settings).await?.context("the data is empty; start `gatehouse serve` once")?;
    let done = match command {
        KeysCommand::Create(new) => create(&settings, &folder, config, &home, new).await,
        KeysCommand::List(list) => show(&settings, &home, list).await,
        KeysCommand::Revoke(revoke) => end(&settings, &home, revoke).await,
    };
    settings.close().await;
    say(&done?)
}

fn say(text: &str) -> Result<()> {
    stdout().write_all(text.as_bytes()).context("the answer cannot be written")
}

async fn create(
    settings: &SqlSettings,
    folder: &DataFolder,
    config: &Config,
    home: &Home,
    new: &CreateKey,
) -> Result<String> {
    let master = bootstrap::fitting_master(settings, folder, config, home).await?;
    let kind = match new.kind {
        KeyKind::Admin => Kind::OrganisationService,
        KeyKind::Workspace => Kind::WorkspaceService,
        KeyKind::User => Kind::WorkspaceUser,
    };
    let scopes = match new.scopes.is_empty() {
        true => scope::every(kind),
        false => new.scopes.iter().map(|scope| scope::normal(scope)).collect(),
    };
    if let Some(refusal) = scopes.iter().find_map(|scope| scope::refuse(scope, kind)) {
        bail!("--scopes: {refusal}");
    }
    let workspace = match (kind, &new.workspace) {
        (Kind::OrganisationService, None) => None,
        (Kind::OrganisationService, Some(_)) => bail!("an admin key belongs to no workspace; leave `--workspace` out"),
        (_, None) => Some(home.workspace.clone()),
        (_, Some(named)) => {
            let found = settings.get(kinds::WORKSPACE, &home.organisation, named).await?;
            Some(found.ok_or_else(|| anyhow!("there is no workspace `{named}`"))?.id)
        }
    };
    let key = fresh_key(&Real, kind);
    let new_key = NewKey {
        name: new.name.clone(),
        kind,
        organisation: home.organisation.clone(),
        workspace,
        scopes,
        expires_at_ms: new.expires.as_deref().map(|text| expiry(text, Real.now_ms())).transpose()?,
        user: (kind == Kind::WorkspaceUser).then(|| home.owner.clone()),
    };
    let record = new_key.record(&Real, &master.hasher(), &key);
    let shown = row(&record)?;
    settings.commit(vec![Change::Insert(record.clone())], audit(home, "api_key.create", &record)).await?;
    if new.json {
        let mut shown = shown;
        shown["key"] = key.expose().into();
        return Ok(format!("{shown}\n"));
    }
    if stdout().is_terminal() {
        say(&format!("Made the key `{}` ({}). It is not shown again:\n", new.name, record.id))?;
    }
    Ok(format!("{}\n", key.expose()))
}

/// `90d`, `12h`, `30m`, or a time such as `2027-01-31` or `2027-01-31T12:00:00Z`.
fn expiry(text: &str, now_ms: i64) -> Result<i64> {
    const UNITS: [(char, i64); 3] = [('d', 86_400_000), ('h', 3_600_000), ('m', 60_000)];
    let span = UNITS.iter().find_map(|(unit, ms)| {
        let number: i64 = text.strip_suffix(*unit)?.parse().ok()?;
        now_ms.checked_add(number.checked_mul(*ms)?)
    });
    match span.or_else(|| parse_time(text)) {
        Some(end) if end > now_ms => Ok(end),
        Some(_) => bail!("--expires: `{text}` is in the past"),
        None => bail!("--expires: `{text}` is no time; write `90d`, `12h`, `2027-01-31` or `2027-01-31T12:00:00Z`"),
    }
}

async fn all(settings: &SqlSettings, home: &Home, status: Option<&str>) -> Result<Vec<Record>> {
    let mut records = Vec::new();
    loop {
        let page = Page { offset: records.len() as i64, limit: PAGE };
        let filter = Filter { workspace: None, status };
        let (mut found, total) = settings.list(kinds::API_KEY, &home.organisation, filter, page).await?;
        let done = found.is_empty() || (records.len() + found.len()) as i64 >= total;
        records.append(&mut found);
        if done {
            return Ok(records);
        }
    }
}

async fn show(settings: &SqlSettings, home: &Home, list: &ListKeys) -> Result<String> {
    let status = if list.all { None } else { Some(Record::ACTIVE) };
    let records = all(settings, home, status).await?;
    let rows = records.iter().map(row).collect::<Result<Vec<_>>>()?;
    if list.json {
        return Ok(format!("{}\n", Value::Array(rows)));
    }
    if rows.is_empty() {
        return Ok("No keys. Make one with `gatehouse keys create`.\n".into());
    }
    let columns = ["id", "name", "kind", "status", "key", "created_at", "expires_at"];
    let cell = |row: &Value, column: &str| row[column].as_str().unwrap_or("never").to_owned();
    let width = |column: &&str| {
        let longest = rows.iter().map(|row| cell(row, column).chars().count()).max().unwrap_or(0);
        longest.max(column.len())
    };
    let widths: Vec<usize> = columns.iter().map(width).collect();
    let line = |cells: Vec<String>| {
        let padded: Vec<String> = cells.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}")).collect();
        format!("{}\n", padded.join("  ").trim_end())
    };
    let mut text = line(columns.iter().map(|column| column.to_uppercase().replace('_', " ")).collect());
    for row in &rows {
        text.push_str(&line(columns.iter().map(|column| cell(row, column)).collect()));
    }
    Ok(text)
}

/// What may be told of a key.
fn row(record: &Record) -> Result<Value> {
    let key: ApiKey = serde_json::from_value(record.doc.clone()).context("a stored key cannot be read")?;
    let expired = key.expired(Real.now_ms());
    let status = match (record.active(), expired) {
        (false, _) => "revoked",
        (true, true) => "expired",
        (true, false) => "active",
    };
    Ok(json!({
        "id": record.id,
        "name": key.name,
        "kind": key.kind.name(),
        "workspace_id": record.workspace,
        "status": status,
        "key": key.masked,
        "created_at": rfc3339(record.created_at),
        "expires_at": key.expires_at_ms.map(rfc3339),
    }))
}

async fn end(settings: &SqlSettings, home: &Home, revoke: &RevokeKey) -> Result<String> {
    let named = |record: &Record| record.id == revoke.key || record.doc["name"] == revoke.key.as_str();
    let mut found: Vec<Record> = all(settings, home, None).await?.into_iter().filter(named).collect();
    if found.len() > 1 && found.iter().any(Record::active) {
        found.retain(Record::active);
    }
    let mut record = match found.len() {
        0 => bail!("no key has the id or name `{}`; `gatehouse keys list` shows all", shown(&revoke.key)),
        1 => found.remove(0),
        many => bail!("{many} keys are called `{}`; revoke one by its id (`gatehouse keys list`)", shown(&revoke.key)),
    };
    if !record.active() {
        return Ok(format!("The key {} was revoked before.\n", record.id));
    }
    record.status = Record::ARCHIVED.into();
    record.updated_at = Real.now_ms();
    let audit = audit(home, "api_key.revoke", &record);
    let id = record.id.clone();
    settings.commit(vec![Change::Replace(record)], audit).await?;
    Ok(format!("Revoked the key {id}. A running server refuses it within two seconds.\n"))
}

/// Somebody may give the key itself where its id is wanted; it is not repeated.
fn shown(text: &str) -> &str {
    if domain::key::shape(text) == domain::key::Shape::Foreign { text } else { "[a key; give its id or name]" }
}

fn audit(home: &Home, action: &str, record: &Record) -> Audit {
    Audit {
        organisation: home.organisation.clone(),
        at: Real.now_ms(),
        actor: "command line".into(),
        action: action.into(),
        target_kind: record.kind.clone(),
        target_id: record.id.clone(),
        address: String::new(),
        detail: json!({ "name": record.doc["name"] }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expiry_is_a_span_or_a_time_that_has_not_passed() {
        assert_eq!(expiry("90d", 0).unwrap(), 90 * 86_400_000);
        assert_eq!(expiry("12h", 5).unwrap(), 12 * 3_600_000 + 5);
        assert_eq!(expiry("1970-01-02", 0).unwrap(), 86_400_000);
        assert!(expiry("1970-01-02", 86_400_001).unwrap_err().to_string().contains("in the past"));
        for text in ["soon", "-3d", "0d", "99999999999999d", ""] {
            assert!(expiry(text, 1).is_err(), "{text}");
        }
    }

    #[test]
    fn a_key_given_in_place_of_its_id_is_not_repeated() {
        assert!(!shown("ghk_ws_canary").contains("canary"));
        assert_eq!(shown("my key"), "my key");
    }
}
