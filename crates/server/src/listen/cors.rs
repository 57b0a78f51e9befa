//! Which pages of other origins may call us from a browser.

use anyhow::{Context, Result, bail};
use http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_HEADERS, ORIGIN, VARY,
};
use http::{HeaderMap, HeaderValue};

use crate::config;

pub(crate) struct Cors {
    origins: Vec<HeaderValue>,
    methods: HeaderValue,
    /// `None` allows what is asked for.
    headers: Option<HeaderValue>,
    expose: HeaderValue,
}

impl Cors {
    pub(crate) fn new(config: &config::Cors) -> Result<Cors> {
        let value = |name: &str, text: &str| {
            HeaderValue::from_str(text)
                .with_context(|| format!("`cors.{name}` has a character that no header may have"))
        };
        for origin in &config.allowed_origins {
            let is_origin =
                origin == "*" || origin == "null" || origin.starts_with("http://") || origin.starts_with("https://");
            if !is_origin || origin.ends_with('/') {
                bail!(
                    "`cors.allowed_origins`: `{origin}` is no origin; write `*` or one such as `https://app.example.com`"
                );
            }
        }
        for (name, texts) in [
            ("allowed_methods", &config.allowed_methods),
            ("allowed_headers", &config.allowed_headers),
            ("expose_headers", &config.expose_headers),
        ] {
            if let Some(text) = texts.iter().find(|text| http::Method::from_bytes(text.as_bytes()).is_err()) {
                bail!("`cors.{name}`: `{text}` is no method or header name");
            }
        }
        let any = config.allowed_headers.iter().any(|name| name == "*");
        Ok(Cors {
            origins: config
                .allowed_origins
                .iter()
                .map(|origin| value("allowed_origins", origin))
                .collect::<Result<_>>()?,
            methods: value("allowed_methods", &config.allowed_methods.join(", "))?,
            headers: if any { None } else { Some(value("allowed_headers", &config.allowed_headers.join(", "))?) },
            expose: value("expose_headers", &config.expose_headers.join(", "))?,
        })
    }

    /// What an answer to this origin says, where it may be read there.
    pub(crate) fn answer(&self, origin: Option<&HeaderValue>, headers: &mut HeaderMap) {
        let Some(allowed) = origin.and_then(|origin| self.allowed(origin)) else { return };
        if allowed != "*" {
            headers.append(VARY, HeaderValue::from_static("origin"));
        }
        headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, allowed.clone());
        if !self.expose.is_empty() {
            headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, self.expose.clone());
        }
    }

    /// What a browser is told that asks before it calls.
    pub(crate) fn preflight(&self, asked: &HeaderMap, headers: &mut HeaderMap) {
        if asked.get(ORIGIN).and_then(|origin| self.allowed(origin)).is_none() {
            return;
        }
        headers.insert(ACCESS_CONTROL_ALLOW_METHODS, self.methods.clone());
        let allowed = self.headers.as_ref().or_else(|| asked.get(ACCESS_CONTROL_REQUEST_HEADERS));
        if let Some(allowed) = allowed {
            headers.insert(ACCESS_CONTROL_ALLOW_HEADERS, allowed.clone());
        }
        headers.insert(ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("86400"));
    }

    fn allowed<'a>(&'a self, origin: &'a HeaderValue) -> Option<&'a HeaderValue> {
        self.origins
            .iter()
            .find(|allowed| *allowed == "*")
            .or_else(|| self.origins.iter().find(|known| *known == origin))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cors(origins: &[&str], headers: &[&str]) -> Cors {
        let list = |items: &[&str]| items.iter().map(|item| (*item).to_owned()).collect();
        Cors::new(&config::Cors {
            allowed_origins: list(origins),
            allowed_methods: list(&["GET", "POST"]),
            allowed_headers: list(headers),
            expose_headers: list(&["*"]),
        })
        .unwrap()
    }

    fn from(origin: &'static str) -> HeaderMap {
        HeaderMap::from_iter([
            (ORIGIN, HeaderValue::from_static(origin)),
            (ACCESS_CONTROL_REQUEST_HEADERS, HeaderValue::from_static("x-a, x-b")),
        ])
    }

    #[test]
    fn any_origin_is_told_so_and_a_listed_one_is_named() {
        let mut told = HeaderMap::new();
        cors(&["*"], &["*"]).answer(from("https://a.example").get(ORIGIN), &mut told);
        assert_eq!(told[ACCESS_CONTROL_ALLOW_ORIGIN], "*");
        assert!(!told.contains_key(VARY));

        let mut told = HeaderMap::new();
        let listed = cors(&["https://a.example", "https://b.example"], &["*"]);
        listed.answer(from("https://b.example").get(ORIGIN), &mut told);
        assert_eq!(told[ACCESS_CONTROL_ALLOW_ORIGIN], "https://b.example");
        assert_eq!(told[VARY], "origin");
    }

    #[test]
    fn an_origin_that_is_not_listed_is_told_nothing() {
        let mut told = HeaderMap::new();
        let listed = cors(&["https://a.example"], &["*"]);
        listed.answer(from("https://evil.example").get(ORIGIN), &mut told);
        listed.preflight(&from("https://evil.example"), &mut told);
        listed.answer(None, &mut told);
        assert!(told.is_empty(), "{told:?}");
    }

    #[test]
    fn a_preflight_allows_the_headers_it_asks_for_or_those_listed() {
        let mut told = HeaderMap::new();
        cors(&["*"], &["*"]).preflight(&from("https://a.example"), &mut told);
        assert_eq!(told[ACCESS_CONTROL_ALLOW_HEADERS], "x-a, x-b");
        assert_eq!(told[ACCESS_CONTROL_ALLOW_METHODS], "GET, POST");
        let mut told = HeaderMap::new();
        cors(&["*"], &["x-c"]).preflight(&from("https://a.example"), &mut told);
        assert_eq!(told[ACCESS_CONTROL_ALLOW_HEADERS], "x-c");
    }
}
