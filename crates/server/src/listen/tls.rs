//! TLS on the listener.

use std::sync::Arc;

use anyhow::{Context, Result, bail};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::TlsAcceptor;

use crate::config::Identity;

pub(crate) fn acceptor(identity: &Identity) -> Result<TlsAcceptor> {
    let chain = CertificateDer::pem_slice_iter(&identity.cert).collect::<Result<Vec<_>, _>>();
    let chain = chain.context("`server.tls_cert` (TLS_CERT) holds something that is no certificate in PEM form")?;
    if chain.is_empty() {
        bail!("`server.tls_cert` (TLS_CERT) holds no certificate; it must be PEM text or a file with it");
    }
    let key = PrivateKeyDer::from_pem_slice(&identity.key);
    let key = key.ok().context("`server.tls_key` (TLS_KEY) holds no private key in PEM form")?;
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let mut config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .context("the certificate in `server.tls_cert` does not belong to the key in `server.tls_key`")?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}
