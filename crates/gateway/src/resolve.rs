//! Steps 6 and 7: which provider, at which host, paid by whom. Exactly one signal must win.

use std::time::Duration;

use domain::config::{self, BadConfig};
use domain::secret::Secret;
use guardrails::Checks;
use http::header::AUTHORIZATION;
use http::{HeaderName, HeaderValue};
use protocol::endpoint::{Family, Manner};
use protocol::error::{Code, Refusal};
use protocol::headers::{Ask, NEVER_FORWARDED, is_hop_by_hop};
use protocol::patch::Edit;
use providers::Provider;

use crate::cache::CacheRule;
use crate::call::{Call, CallBody};
use crate::gateway::Gateway;
use crate::plan::{Credential, Plan, Target};
use crate::understand::Wishes;

const STORED: &str = "stored providers (`@slug`, virtual keys)";

pub(crate) fn resolve(gateway: &Gateway, wishes: &Wishes, call: &Call) -> Result<Plan, Refusal> {
    let config = read_config(wishes)?;
    let name = provider_name(gateway, wishes, &config, call)?;
    let provider = providers::by_slug(name).ok_or_else(|| unknown_provider(name))?;
    speaks(provider, call)?;
    let host = wishes.custom_host.as_deref().or(config.custom_host.as_deref());
    let host = host
        .map(|text| gateway.checked_host(text))
        .transpose()
        .map_err(|refusal| Refusal::new(Code::InvalidHost, "Invalid custom host").because(refusal.to_string()))?;
    if !config.override_params.is_empty() && !matches!(call.body, CallBody::Json { .. }) {
        return Err(Refusal::not_yet(&format!("forced fields (`override_params`) on `{}`", call.endpoint.id)));
    }
    let forward = wishes.forward_headers.as_ref().or(config.forward_headers.as_ref());
    Ok(Plan::Single(Target {
        provider,
        host,
        forward: forwarded(gateway, forward.map_or(&[], Vec::as_slice))?,
        overrides: overrides(&config)?,
        options: options(provider, &config)?,
        timeout: call.timeout.or(config.request_timeout_ms.map(Duration::from_millis)),
        credential: credential(call, config.api_key),
        checks: Checks::default(),
        cache: CacheRule::Off,
        path: "config",
    }))
}

fn read_config(wishes: &Wishes) -> Result<config::Target, Refusal> {
    let Some(text) = &wishes.config else { return Ok(config::Target::default()) };
    if !text.starts_with('{') {
        return Err(Refusal::not_yet("stored configs (a config by its slug)"));
    }
    let target = config::inline(text).map_err(|bad| match bad {
        BadConfig::NotJson => Refusal::new(Code::InvalidConfig, "Invalid config passed. You need to pass a valid json"),
        BadConfig::Legacy => Refusal::new(
            Code::InvalidConfig,
            "This version of config is not supported in this route. Please migrate to the latest version",
        ),
        BadConfig::Invalid(faults) => {
            Refusal { errors: faults, ..Refusal::new(Code::InvalidConfig, "Invalid config passed") }
        }
        BadConfig::NotYet(what) => Refusal::not_yet(what),
    })?;
    if !target.unknown.is_empty() {
        tracing::warn!(keys = ?target.unknown, "an inline config has keys nobody knows; they are ignored");
    }
    Ok(target)
}

/// The signals in their order: config, header, virtual key, the model's prefix.
fn provider_name<'a>(
    gateway: &Gateway,
    wishes: &'a Wishes,
    config: &'a config::Target,
    call: &Call,
) -> Result<&'a str, Refusal> {
    let virtual_key = wishes.virtual_key.is_some() || config.virtual_key.is_some();
    let stored = call.model().is_some_and(is_reference)
        || call.query.as_deref().is_some_and(names_a_reference)
        || config.override_params.iter().any(|(field, value)| field == "model" && value.starts_with("\"@"));
    let named = config.provider.as_deref().or(wishes.provider.as_deref());
    match named {
        // A virtual key pays for the call even where a provider is named beside it.
        _ if virtual_key => Err(Refusal::not_yet(STORED)),
        Some(name) if name.starts_with('@') => Err(Refusal::not_yet(STORED)),
        Some(name) => Ok(name),
        None if stored => Err(Refusal::not_yet(STORED)),
        None if call.endpoint.family == Family::Models => Err(Refusal::not_yet("the model catalogue of a workspace")),
        None if matches!(call.endpoint.family, Family::Files | Family::Batches | Family::FineTuning) => {
            Err(Refusal::not_yet("files, batches and fine-tuning kept by the gateway itself; name a provider"))
        }
        None => Err(no_provider(gateway, wishes)),
    }
}

/// `@slug/model`; Cloudflare's own model names begin the same way.
fn is_reference(model: &str) -> bool {
    model.starts_with('@') && model.contains('/') && !model.starts_with("@cf/") && !model.starts_with("@hf/")
}

/// `?model=@slug/model`, however it is encoded.
fn names_a_reference(query: &str) -> bool {
    query.split('&').filter_map(|pair| pair.strip_prefix("model=")).any(|model| {
        let model = model.replace("%40", "@").replace("%2F", "/").replace("%2f", "/");
        is_reference(&model)
    })
}

fn no_provider(gateway: &Gateway, wishes: &Wishes) -> Refusal {
    let (config, provider) = (gateway.prefixes.ours(Ask::Config), gateway.prefixes.ours(Ask::Provider));
    let message = match wishes.config {
        None => format!("Either {config} or {provider} header is required"),
        Some(_) => format!(
            "Either {provider} needs to be passed. Or the {config} header should have a valid config with provider details in it."
        ),
    };
    Refusal::new(Code::NoProvider, message)
}

fn unknown_provider(name: &str) -> Refusal {
    if providers::NOT_YET.contains(&name) {
        return Refusal::not_yet(&format!("the provider `{name}`"));
    }
    let known: Vec<&str> = providers::ALL.iter().map(|provider| provider.slug).collect();
    let shown: String = name.chars().take(64).collect();
    Refusal::new(Code::InvalidProvider, "Invalid provider passed")
        .because(format!("there is no provider `{shown}`; this build has `{}`", known.join("`, `")))
}

/// A known format must be one the provider speaks; translators are not built. Everything else is passed through.
fn speaks(provider: &Provider, call: &Call) -> Result<(), Refusal> {
    if call.endpoint.manner == Manner::Relayed || provider.native.contains(&call.endpoint.id) {
        return Ok(());
    }
    Err(Refusal::not_yet(&format!("translating `{}` for the provider `{}`", call.endpoint.id, provider.slug)))
}

fn forwarded(gateway: &Gateway, names: &[String]) -> Result<Vec<HeaderName>, Refusal> {
    names.iter().map(|name| forwardable(gateway, name)).collect()
}

fn forwardable(gateway: &Gateway, name: &str) -> Result<HeaderName, Refusal> {
    let refused = |why: String| Refusal::new(Code::InvalidRequest, why);
    let parsed: HeaderName =
        name.parse().map_err(|_| refused("forward_headers names something that is no header".into()))?;
    let text = parsed.as_str();
    let ours = matches!(gateway.prefixes.strip(text), Some("api-key" | "forward-headers"));
    if ours || NEVER_FORWARDED.contains(&text) || is_hop_by_hop(&parsed) {
        return Err(refused(format!("forward_headers must not contain the '{text}' header")));
    }
    Ok(parsed)
}

fn overrides(config: &config::Target) -> Result<Vec<Edit>, Refusal> {
    let edit = |(field, value): &(String, String)| Edit { field: field.clone(), value: value.clone() };
    Ok(config.override_params.iter().map(edit).collect())
}

/// What the config says in place of headers.
fn options(provider: &Provider, config: &config::Target) -> Result<Vec<(HeaderName, HeaderValue)>, Refusal> {
    let mut options = Vec::new();
    for (name, text) in &config.options {
        let Some((_, upstream)) = provider.options.iter().find(|(ours, _)| ours == name) else { continue };
        let value = HeaderValue::from_str(text).map_err(|_| {
            Refusal::new(Code::InvalidConfig, format!("`{name}` in the config cannot be sent in a header"))
        })?;
        options.push((HeaderName::from_static(upstream), value));
    }
    Ok(options)
}

fn credential(call: &Call, given: Option<Secret>) -> Credential {
    match (given, call.headers.get(AUTHORIZATION)) {
        (Some(secret), _) => Credential::Given(secret),
        (None, Some(own)) => Credential::Callers(own.clone()),
        (None, None) => Credential::Nothing,
    }
}
