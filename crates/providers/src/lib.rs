//! Every upstream we can speak to, as rows and pure functions. Opens no socket, reads no clock, logs nothing.

pub mod mock;
mod openai;
mod provider;

pub use provider::{Auth, Provider, Transport};

/// Every provider, once.
pub const ALL: &[&Provider] = &[&mock::PROVIDER, &openai::PROVIDER];

/// Providers of the contract that have no row yet: a call to one is told so, unlike a call to a name nobody knows.
pub const NOT_YET: &[&str] = &[
    "azure-openai",
    "azure-ai",
    "github",
    "anthropic",
    "google",
    "vertex-ai",
    "bedrock",
    "sagemaker",
    "cohere",
    "mistral-ai",
    "ollama",
    "huggingface",
    "groq",
    "together-ai",
    "fireworks-ai",
    "perplexity-ai",
    "deepinfra",
    "openrouter",
    "deepseek",
    "x-ai",
    "cerebras",
    "sambanova",
    "anyscale",
    "deepbricks",
    "siliconflow",
    "moonshot",
    "lingyi",
    "zhipu",
    "z-ai",
    "novita-ai",
    "monsterapi",
    "predibase",
    "reka-ai",
    "ai21",
    "palm",
    "stability-ai",
    "workers-ai",
    "segmind",
    "recraft-ai",
    "hyperbolic",
    "nomic",
    "jina",
    "voyage",
    "upstage",
    "lambda",
    "dashscope",
    "nebius",
    "nscale",
    "kluster-ai",
    "featherless-ai",
    "inference-net",
    "krutrim",
    "302ai",
    "cometapi",
    "matterai",
    "aibadgr",
    "iointelligence",
    "ovhcloud",
    "modal",
    "nextbit",
    "ncompass",
    "lepton",
    "lemonfox-ai",
    "bytez",
    "triton",
    "oracle",
    "cortex",
    "replicate",
    "qdrant",
    "milvus",
    "meshy",
    "tripo3d",
    "databricks",
    "pinecone",
    "latitude",
    "bedrock-mantle",
    "claude-platform-aws",
    "gateway",
];

pub fn by_slug(slug: &str) -> Option<&'static Provider> {
    ALL.iter().find(|provider| provider.slug == slug).copied()
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn every_row_is_well_formed() {
        let mut slugs = HashSet::new();
        for Provider { slug, base_url, native, options, .. } in ALL {
            assert!(slugs.insert(slug), "{slug} is listed once");
            assert!(slug.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-')), "{slug}");
            let uri: http::Uri = base_url.parse().expect(base_url);
            assert!(uri.scheme().is_some() && uri.authority().is_some(), "{base_url} is absolute");
            assert!(!base_url.ends_with('/'), "{base_url}");
            assert_eq!(native.iter().collect::<HashSet<_>>().len(), native.len(), "native endpoints of {slug}");
            assert!(
                options.iter().all(|(ours, theirs)| [ours, theirs].iter().all(|name| **name == name.to_lowercase()))
            );
            assert_eq!(by_slug(slug).map(|provider| provider.slug), Some(*slug));
            assert!(!NOT_YET.contains(slug), "{slug} has a row");
        }
    }
}
