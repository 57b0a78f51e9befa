//! The operator's proxy: which calls go through it, and with which credentials. Values are given, not read from the
//! environment.

use http::{HeaderValue, Uri};
use hyper_util::client::proxy::matcher::{Intercept, Matcher};

use crate::BoxError;

/// As in `HTTP_PROXY`, `HTTPS_PROXY` and `NO_PROXY`.
#[derive(Clone, Default)]
pub struct ProxySettings {
    pub http: Option<String>,
    pub https: Option<String>,
    pub no_proxy: Option<String>,
}

/// A proxy's URL may hold a password.
impl std::fmt::Debug for ProxySettings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let shown = |value: &Option<String>| value.as_ref().map(|_| "[set]");
        f.debug_struct("ProxySettings")
            .field("http", &shown(&self.http))
            .field("https", &shown(&self.https))
            .field("no_proxy", &self.no_proxy)
            .finish()
    }
}

/// `None` where no proxy is set, so that the usual call asks nothing.
pub(crate) struct Proxies(Option<Matcher>);

impl Proxies {
    pub(crate) fn new(settings: &ProxySettings) -> Result<Proxies, BoxError> {
        let http = checked("HTTP_PROXY", &settings.http)?;
        let https = checked("HTTPS_PROXY", &settings.https)?;
        if http.is_empty() && https.is_empty() {
            return Ok(Proxies(None));
        }
        let no = settings.no_proxy.clone().unwrap_or_default();
        // The matcher takes it for names only, not for addresses.
        if no.split(',').any(|rule| rule.trim() == "*") {
            return Ok(Proxies(None));
        }
        Ok(Proxies(Some(Matcher::builder().http(http).https(https).no(no).build())))
    }

    pub(crate) fn on_the_way_to(&self, uri: &Uri) -> Option<Intercept> {
        self.0.as_ref()?.intercept(uri)
    }

    /// What a request itself must carry: only plain HTTP is read by the proxy, a tunnel authenticates when it is dug.
    pub(crate) fn authorization(&self, uri: &Uri) -> Option<HeaderValue> {
        let plain = uri.scheme() == Some(&http::uri::Scheme::HTTP);
        self.on_the_way_to(uri).filter(|_| plain)?.basic_auth().cloned()
    }
}

/// The matcher would silently go without a proxy it cannot use; calls would then leave by a way the operator closed.
fn checked(name: &str, value: &Option<String>) -> Result<String, BoxError> {
    let Some(text) = value.as_deref().map(str::trim).filter(|text| !text.is_empty()) else {
        return Ok(String::new());
    };
    // The value may hold a password and is not repeated.
    let usable = text.parse::<Uri>().is_ok_and(|uri| match uri.scheme_str() {
        Some("http") => uri.authority().is_some(),
        // Without a scheme a port must tell that a proxy is meant.
        None => uri.authority().is_some_and(|authority| authority.port().is_some()),
        Some(_) => false,
    });
    if usable {
        Ok(text.to_owned())
    } else {
        Err(format!("`{name}` is not usable; write it like `http://proxy:3128`").into())
    }
}
