//! What the mock can do, told from its own tables.

use std::fmt::Write;

use providers::mock::{ACCESS_KEY, API_KEY, HEADERS, MODELS, SECRET_KEY, TARIFFS, formats};

/// For the foot of a command's help.
pub fn help() -> String {
    let mut help = String::new();
    write(&mut help).expect("a text takes everything");
    help
}

fn write(help: &mut String) -> std::fmt::Result {
    writeln!(help, "It answers POST in five providers' shapes, and OpenAI's also without /v1:")?;
    for (format, paths) in formats() {
        writeln!(help, "  {format}")?;
        for path in paths {
            writeln!(help, "    {path}")?;
        }
    }
    writeln!(
        help,
        "\nBedrock lets in who signs (SigV4, service bedrock, any region) with the access key `{ACCESS_KEY}` and"
    )?;
    writeln!(
        help,
        "the secret `{SECRET_KEY}`, or who sends `Authorization: Bearer {API_KEY}`; the others let in everyone."
    )?;
    writeln!(help, "\nThe model decides what is answered; any other name echoes. Tokens are words.")?;
    rows(help, MODELS)?;
    writeln!(help, "\nHeaders of a request twist any answer:")?;
    rows(help, HEADERS)?;
    writeln!(
        help,
        "\nGET /__mock/calls tells what was received, GET /__mock/invoice what a provider would bill: calls and"
    )?;
    writeln!(help, "tokens for each format and model, and their cost in nano-dollars. DELETE clears either. Prices:")?;
    for row in TARIFFS {
        writeln!(
            help,
            "  {:<6} {} a call, {} a token in, {} a token out, {} a search",
            row.model, row.call, row.input_token, row.output_token, row.search
        )?;
    }
    writeln!(
        help,
        "An answer bills its input when its head is sent, its output then too or, streamed, event by event: a stream"
    )?;
    writeln!(
        help,
        "that breaks off bills what it told. What was refused, never came or came as garbage or empty bills nothing,"
    )?;
    write!(help, "nor does counting tokens. The invoice is exact, whatever x-mock-usage makes the answer say.")
}

fn rows(help: &mut String, rows: &[(&str, &str)]) -> std::fmt::Result {
    rows.iter().try_for_each(|(name, text)| writeln!(help, "  {name:<26} {text}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_help_names_every_model_header_path_and_price() {
        let help = help();
        let paths = formats().flat_map(|(_, paths)| paths);
        let names = MODELS.iter().chain(HEADERS).map(|(name, _)| (*name).to_owned());
        for name in paths.chain(names).chain(["AKIDMOCK", "mock-secret-key", "10000000 a call"].map(str::to_owned)) {
            assert!(help.contains(&name), "{name}");
        }
    }
}
