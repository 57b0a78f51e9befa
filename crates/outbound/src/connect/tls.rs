//! Whom we believe on TLS: the machine's certificate authorities and those the operator adds.
//!
//! They are read at the first `https` call and not at the start: that takes tens of milliseconds, and a machine without any
//! may still serve plain HTTP and mocks.

use std::sync::Arc;

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};
use tokio::sync::OnceCell;

use crate::BoxError;
use crate::failure::Failure;

pub(crate) struct Tls {
    extra: Vec<CertificateDer<'static>>,
    ready: OnceCell<Arc<ClientConfig>>,
}

impl Tls {
    pub(crate) fn new(extra_ca_pem: Option<&[u8]>) -> Result<Tls, BoxError> {
        let extra = extra_ca_pem.map_or(Ok(Vec::new()), read_authorities)?;
        Ok(Tls { extra, ready: OnceCell::new() })
    }

    /// A failure is not kept: the next call looks again.
    pub(super) async fn config(&self) -> Result<Arc<ClientConfig>, Failure> {
        let config = self.ready.get_or_try_init(|| async {
            let extra = self.extra.clone();
            let built = tokio::task::spawn_blocking(move || build(extra)).await;
            built.map_err(|error| error.to_string()).and_then(|config| config)
        });
        config.await.cloned().map_err(|detail| Failure::broken("ETLS", detail))
    }
}

fn read_authorities(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, BoxError> {
    let found: Vec<_> = CertificateDer::pem_slice_iter(pem).collect::<Result<_, _>>()?;
    let mut trial = RootCertStore::empty();
    for authority in &found {
        trial.add(authority.clone())?;
    }
    if found.is_empty() {
        Err("the extra certificate authorities hold no certificate in PEM form".into())
    } else {
        Ok(found)
    }
}

fn build(extra: Vec<CertificateDer<'static>>) -> Result<Arc<ClientConfig>, String> {
    let mut roots = RootCertStore::empty();
    // The loader asks `SSL_CERT_FILE` and `SSL_CERT_DIR` first, as other programs on the machine do.
    // Machines carry old certificates nobody can read any more; the readable ones count.
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    roots.add_parsable_certificates(extra);
    if roots.is_empty() {
        return Err("this machine has no trusted certificate authorities; install `ca-certificates`".to_owned());
    }
    // The provider is named, not installed: what other crates choose for the process does not reach us, nor ours them.
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let mut config = builder.map_err(|error| error.to_string())?.with_root_certificates(roots).with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}
