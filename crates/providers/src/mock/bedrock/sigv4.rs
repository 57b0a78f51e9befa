//! AWS's signature, version 4: made by callers, made again here, and compared.
//!
//! The path that is signed is the path that is sent with each of its segments encoded once more: `%3A` is signed as
//! `%253A`. How old a signature is is not looked at.

use aws_lc_rs::hmac;
use http::HeaderMap;
use http::header::AUTHORIZATION;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use sha2::{Digest, Sha256};

use crate::mock::ask::Ask;
use crate::mock::intake::{Receipt, hex};
use crate::mock::refusal::Refusal;

pub const ACCESS_KEY: &str = "AKIDMOCK";
pub const SECRET_KEY: &str = "mock-secret-key";
/// Taken as a bearer token, in place of a signature.
pub const API_KEY: &str = "mock-api-key";

const SERVICE: &str = "bedrock";
const ALGORITHM: &str = "AWS4-HMAC-SHA256";

const QUERY: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');
const PATH: &AsciiSet = &QUERY.remove(b'/');

/// What is signed of a request, beside its headers.
struct Message<'a> {
    method: &'a str,
    path: &'a str,
    query: Option<&'a str>,
    headers: &'a HeaderMap,
    /// Of the body, in hex.
    sha256: &'a str,
}

/// Who signed, and for what.
struct Scope<'a> {
    key: &'a str,
    date: &'a str,
    region: &'a str,
    service: &'a str,
}

impl<'a> Scope<'a> {
    fn read(credential: &'a str) -> Option<Scope<'a>> {
        match credential.split('/').collect::<Vec<_>>()[..] {
            [key, date, region, service, "aws4_request"] => Some(Scope { key, date, region, service }),
            _ => None,
        }
    }

    fn told(&self) -> String {
        format!("{}/{}/{}/aws4_request", self.date, self.region, self.service)
    }
}

/// The `authorization` of a caller with the mock's credentials who signs all of these headers; `x-amz-date` and `host`
/// must be among them. The path begins at the host's root.
pub fn sign(method: &str, path: &str, query: Option<&str>, headers: &HeaderMap, body: &[u8]) -> String {
    let sha256 = hex(&Sha256::digest(body));
    let mut names: Vec<&str> = headers.keys().map(|name| name.as_str()).collect();
    names.sort_unstable();
    let names = names.join(";");
    let date = header(headers, "x-amz-date").chars().take(8).collect::<String>();
    let scope = Scope { key: ACCESS_KEY, date: &date, region: "us-east-1", service: SERVICE };
    let message = Message { method, path, query, headers, sha256: &sha256 };
    let signature = signature(&message, &scope, &names, SECRET_KEY);
    format!("{ALGORITHM} Credential={ACCESS_KEY}/{}, SignedHeaders={names}, Signature={signature}", scope.told())
}

pub(super) fn verify(ask: &Ask<'_>, receipt: &Receipt) -> Result<(), Refusal> {
    let authorization = header(ask.headers, AUTHORIZATION.as_str());
    if authorization.is_empty() {
        return Err(Refusal::forbidden("MissingAuthenticationTokenException", "missing authentication token"));
    }
    let incomplete = |what| Refusal::forbidden("IncompleteSignatureException", what);
    let Some(fields) = authorization.strip_prefix(ALGORITHM) else {
        return Err(incomplete("`authorization` must begin with `AWS4-HMAC-SHA256`"));
    };
    let field = |name: &str| fields.split(',').find_map(|field| field.trim().strip_prefix(name)?.strip_prefix('='));
    let (Some(credential), Some(names), Some(given)) =
        (field("Credential"), field("SignedHeaders"), field("Signature"))
    else {
        return Err(incomplete("`authorization` must have `Credential`, `SignedHeaders` and `Signature`"));
    };
    let Some(scope) = Scope::read(credential) else {
        return Err(incomplete("`Credential` must be key/date/region/service/aws4_request"));
    };
    if scope.key != ACCESS_KEY {
        return Err(Refusal::forbidden("UnrecognizedClientException", format!("the access key is not `{ACCESS_KEY}`")));
    }
    let wrong = |what: String| Err(Refusal::forbidden("InvalidSignatureException", what));
    if scope.service != SERVICE {
        return wrong(format!("the credential should be scoped to `{SERVICE}`"));
    }
    if !header(ask.headers, "x-amz-date").starts_with(scope.date) {
        return wrong("the date in the credential is not that of `x-amz-date`".to_owned());
    }
    if let Some(missing) = unsigned(ask.headers, names) {
        return wrong(format!("`{missing}` must be signed"));
    }
    let claimed = header(ask.headers, "x-amz-content-sha256");
    if !claimed.is_empty() && claimed != receipt.sha256 {
        return wrong("`x-amz-content-sha256` is not the hash of the body".to_owned());
    }
    let Ask { method, path, query, headers, .. } = *ask;
    let message = Message { method, path, query, headers, sha256: &receipt.sha256 };
    if signature(&message, &scope, names, SECRET_KEY) != given {
        return wrong("the signature we calculated does not match the one you provided".to_owned());
    }
    Ok(())
}

/// A header that AWS wants signed and that is not.
fn unsigned<'a>(headers: &'a HeaderMap, names: &str) -> Option<&'a str> {
    let present = headers.keys().map(|name| name.as_str()).filter(|name| name.starts_with("x-amz-"));
    let mut wanted = ["host", "x-amz-date"].into_iter().chain(present);
    wanted.find(|wanted| names.split(';').all(|name| name != *wanted))
}

fn signature(message: &Message<'_>, scope: &Scope<'_>, names: &str, secret: &str) -> String {
    let headers: String = names.split(';').map(|name| format!("{name}:{}\n", header(message.headers, name))).collect();
    let canonical = [
        message.method,
        &utf8_percent_encode(message.path, PATH).to_string(),
        &canonical_query(message.query.unwrap_or_default()),
        &headers,
        names,
        message.sha256,
    ];
    let canonical = hex(&Sha256::digest(canonical.join("\n")));
    let date = header(message.headers, "x-amz-date");
    let to_sign = [ALGORITHM, &date, &scope.told(), &canonical].join("\n");
    let parts = [scope.date, scope.region, scope.service, "aws4_request", &to_sign];
    let signed = parts.iter().fold(format!("AWS4{secret}").into_bytes(), |key, part| {
        hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, &key), part.as_bytes()).as_ref().to_vec()
    });
    hex(&signed)
}

fn canonical_query(query: &str) -> String {
    let encoded = |text: &str| {
        let text = percent_decode_str(text).decode_utf8_lossy();
        utf8_percent_encode(&text, QUERY).to_string()
    };
    let pairs = query.split('&').filter(|pair| !pair.is_empty());
    let mut pairs: Vec<String> = pairs
        .map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            format!("{}={}", encoded(name), encoded(value))
        })
        .collect();
    pairs.sort_unstable();
    pairs.join("&")
}

/// All values of a header, each with its white space folded; empty where there is none.
fn header(headers: &HeaderMap, name: &str) -> String {
    let values = headers.get_all(name).iter().map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned());
    let folded = values.map(|value| value.split_whitespace().collect::<Vec<_>>().join(" "));
    folded.collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    const EMPTY: &str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
    const EXAMPLE_SECRET: &str = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY";

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (name.parse().expect("a name"), value.parse().expect("a value"))).collect()
    }

    /// From the test suite and the documentation of AWS.
    #[test]
    fn signatures_are_those_that_aws_gives() {
        let vanilla = headers(&[("host", "example.amazonaws.com"), ("x-amz-date", "20150830T123600Z")]);
        let message = Message { method: "GET", path: "/", query: None, headers: &vanilla, sha256: EMPTY };
        let mut scope = Scope { key: "AKIDEXAMPLE", date: "20150830", region: "us-east-1", service: "service" };
        assert_eq!(
            signature(&message, &scope, "host;x-amz-date", EXAMPLE_SECRET),
            "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"
        );
        let users = headers(&[
            ("content-type", "application/x-www-form-urlencoded; charset=utf-8"),
            ("host", "iam.amazonaws.com"),
            ("x-amz-date", "20150830T123600Z"),
        ]);
        let query = Some("Version=2010-05-08&Action=ListUsers");
        let message = Message { method: "GET", path: "/", query, headers: &users, sha256: EMPTY };
        scope.service = "iam";
        assert_eq!(
            signature(&message, &scope, "content-type;host;x-amz-date", EXAMPLE_SECRET),
            "5d672d79c15b13162d9279b0855cfba6789a8edb4c82c400e06b5924a6f2b5d7"
        );
    }

    #[test]
    fn the_path_is_encoded_once_more() {
        let path = "/model/us.anthropic.claude-v2%3A1/converse";
        assert_eq!(utf8_percent_encode(path, PATH).to_string(), "/model/us.anthropic.claude-v2%253A1/converse");
    }

    /// The name of the error, or `ok`.
    fn verdict(change: impl FnOnce(&mut HeaderMap)) -> &'static str {
        let mut signed = headers(&[
            ("host", "mock:9"),
            ("content-type", "application/json"),
            ("x-amz-date", "20270115T080000Z"),
            ("x-amz-security-token", "session"),
        ]);
        let path = "/model/echo%3A0/converse";
        let authorization = sign("POST", path, None, &signed, b"{}");
        signed.insert(AUTHORIZATION, authorization.parse().expect("a value"));
        change(&mut signed);
        let receipt = Receipt { bytes: 2, sha256: hex(&Sha256::digest(b"{}")), parts: Vec::new() };
        let ask = Ask { method: "POST", path, query: None, headers: &signed, body: b"{}", id: "7", now: 0 };
        match verify(&ask, &receipt) {
            Ok(()) => "ok",
            Err(refusal) => refusal.kind().expect("a name"),
        }
    }

    fn replace(headers: &mut HeaderMap, what: &str, with: &str) {
        let changed = header(headers, "authorization").replace(what, with);
        headers.insert(AUTHORIZATION, changed.parse().expect("a value"));
    }

    #[test]
    fn a_good_signature_is_let_in_and_every_other_is_named() {
        assert_eq!(verdict(|_| ()), "ok");
        assert_eq!(verdict(|headers| drop(headers.remove(AUTHORIZATION))), "MissingAuthenticationTokenException");
        assert_eq!(verdict(|headers| replace(headers, "Signature=", "Sign=")), "IncompleteSignatureException");
        assert_eq!(verdict(|headers| replace(headers, "AKIDMOCK", "AKIDOTHER")), "UnrecognizedClientException");
        let wrong = "InvalidSignatureException";
        assert_eq!(verdict(|headers| replace(headers, "Signature=", "Signature=0")), wrong);
        assert_eq!(verdict(|headers| replace(headers, "/bedrock/", "/s3/")), wrong);
        assert_eq!(verdict(|headers| replace(headers, "us-east-1", "eu-west-1")), wrong);
        assert_eq!(verdict(|headers| replace(headers, ";x-amz-security-token", "")), wrong);
        assert_eq!(verdict(|headers| drop(headers.insert("host", "other".parse().expect("a value")))), wrong);
        assert_eq!(verdict(|headers| drop(headers.insert("x-amz-date", "20270116".parse().expect("a value")))), wrong);
    }
}
