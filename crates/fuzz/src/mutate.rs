//! Makes a new input out of the known ones.

use crate::chance::Chance;
use crate::corpus::Corpus;

type Mutation = fn(&mut Vec<u8>, &Corpus<'_>, &mut Chance);

/// Words stand here more than once: they find what grammars hide.
const MUTATIONS: &[Mutation] = &[
    insert_word,
    insert_word,
    insert_word,
    replace_by_word,
    replace_by_word,
    |input, _, chance| flip_bit(input, chance),
    |input, _, chance| set_byte(input, chance),
    insert_byte,
    remove_stretch,
    repeat_stretch,
    copy_stretch,
    truncate,
    splice,
    change_number,
];

/// Bytes at which readers tend to change their minds.
const EDGES: &[u8] = &[0, b'\t', b'\n', b'\r', b' ', b'"', b'%', b'.', b'/', b':', b'\\', b'{', b'}', 0x7f, 0x80, 0xff];
const NUMBERS: &[&str] = &["0", "-0", "1", "-1", "1e400", "0x7f", "00", "255", "256", "65536", "18446744073709551616"];

/// A seed after one to eight changes.
pub(crate) fn made(corpus: &Corpus<'_>, chance: &mut Chance) -> Vec<u8> {
    let mut input = chance.of(corpus.seeds).map(|seed| seed.to_vec()).unwrap_or_default();
    for _ in 0..=chance.below(8) {
        if let Some(mutation) = chance.of(MUTATIONS) {
            mutation(&mut input, corpus, chance);
        }
    }
    input.truncate(corpus.longest);
    input
}

fn put(input: &mut Vec<u8>, place: std::ops::Range<usize>, new: &[u8]) {
    input.splice(place, new.iter().copied());
}

fn insert_word(input: &mut Vec<u8>, corpus: &Corpus<'_>, chance: &mut Chance) {
    let at = chance.below(input.len() + 1);
    let word = chance.of(corpus.words).copied().unwrap_or_default();
    put(input, at..at, word.as_bytes());
}

fn replace_by_word(input: &mut Vec<u8>, corpus: &Corpus<'_>, chance: &mut Chance) {
    let place = chance.stretch(input.len());
    let word = chance.of(corpus.words).copied().unwrap_or_default();
    put(input, place, word.as_bytes());
}

fn flip_bit(input: &mut [u8], chance: &mut Chance) {
    let (at, bit) = (chance.below(input.len()), chance.below(8));
    if let Some(byte) = input.get_mut(at) {
        *byte ^= 1 << bit;
    }
}

fn set_byte(input: &mut [u8], chance: &mut Chance) {
    let (at, new) = (chance.below(input.len()), any_byte(chance));
    if let Some(byte) = input.get_mut(at) {
        *byte = new;
    }
}

fn insert_byte(input: &mut Vec<u8>, _: &Corpus<'_>, chance: &mut Chance) {
    let at = chance.below(input.len() + 1);
    input.insert(at, any_byte(chance));
}

fn any_byte(chance: &mut Chance) -> u8 {
    let any = chance.next() as u8;
    if chance.below(2) == 0 { any } else { chance.of(EDGES).copied().unwrap_or(any) }
}

fn remove_stretch(input: &mut Vec<u8>, _: &Corpus<'_>, chance: &mut Chance) {
    let place = chance.stretch(input.len());
    input.drain(place);
}

fn repeat_stretch(input: &mut Vec<u8>, corpus: &Corpus<'_>, chance: &mut Chance) {
    let place = chance.stretch(input.len());
    let times = 1 + if chance.below(8) == 0 { chance.below(200) } else { chance.below(3) };
    let stretch = input[place.clone()].to_vec();
    let times = times.min(corpus.longest / stretch.len().max(1));
    put(input, place.end..place.end, &stretch.repeat(times));
}

fn copy_stretch(input: &mut Vec<u8>, _: &Corpus<'_>, chance: &mut Chance) {
    let stretch = input[chance.stretch(input.len())].to_vec();
    let at = chance.below(input.len() + 1);
    put(input, at..at, &stretch);
}

fn truncate(input: &mut Vec<u8>, _: &Corpus<'_>, chance: &mut Chance) {
    input.truncate(chance.below(input.len() + 1));
}

/// The beginning of this one and the end of another.
fn splice(input: &mut Vec<u8>, corpus: &Corpus<'_>, chance: &mut Chance) {
    let other = chance.of(corpus.seeds).copied().unwrap_or_default();
    input.truncate(chance.below(input.len() + 1));
    input.extend_from_slice(&other[chance.below(other.len() + 1)..]);
}

fn change_number(input: &mut Vec<u8>, _: &Corpus<'_>, chance: &mut Chance) {
    let digits: Vec<usize> = (0..input.len()).filter(|at| input[*at].is_ascii_digit()).collect();
    let Some(&at) = chance.of(&digits) else { return };
    let end = (at..input.len()).find(|at| !input[*at].is_ascii_digit()).unwrap_or(input.len());
    put(input, at..end, chance.of(NUMBERS).copied().unwrap_or_default().as_bytes());
}
