//! How much of a request is talk that no skill is needed for?
//!
//! "Thanks, that worked", "make it shorter", "who wrote that": whatever the library, such phrases tell that
//! the answer is in the conversation or in everybody's head. They stand in `talk.txt`, by kind. A long
//! request has some of them by chance, so they are counted for every ten words. "Translate this" is no talk
//! where a skill translates: what the likeliest skill is about does not count.

use std::sync::LazyLock;

use hashbrown::HashMap;

use crate::text::{Tokenizer, is_idle, terms};

/// Phrases of one kind count so often at most: they repeat one another.
const OF_A_KIND: usize = 2;

/// What is counted for so many words ...
const WORDS: f64 = 10.0;

/// ... comes to this at most.
const MOST: f64 = 3.0;

static PHRASES: LazyLock<Phrases> = LazyLock::new(|| Phrases::read(include_str!("talk.txt")));

/// All phrases by their first word, with their kinds.
struct Phrases {
    kinds: Vec<&'static str>,
    /// The words of each phrase, and its kind.
    phrases: Vec<(Vec<String>, usize)>,
    by_first: HashMap<String, Vec<usize>>,
}

impl Phrases {
    fn read(text: &'static str) -> Self {
        let mut all = Self { kinds: Vec::new(), phrases: Vec::new(), by_first: HashMap::default() };
        for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
            let (kind, phrases) = line.split_once(": ").expect("a kind and its phrases");
            let known = all.kinds.iter().position(|known| *known == kind);
            let kind = known.unwrap_or_else(|| {
                all.kinds.push(kind);
                all.kinds.len() - 1
            });
            for phrase in phrases.split(", ") {
                let words = words(phrase);
                let first = words.first().expect("a phrase has words").clone();
                all.by_first.entry(first).or_default().push(all.phrases.len());
                all.phrases.push((words, kind));
            }
        }
        all
    }
}

/// Phrases of talk for ten words of a request; of a shorter one, in all of it. `told` is what the likeliest
/// skill says of itself.
pub(super) fn talk(request: &str, told: &str) -> f64 {
    let Phrases { kinds, phrases, by_first } = &*PHRASES;
    let words = words(request);
    let mut found: Vec<usize> = (0..words.len())
        .flat_map(|at| {
            let begun = by_first.get(&words[at]).into_iter().flatten().copied();
            let words = &words;
            begun.filter(move |&phrase| words[at..].starts_with(&phrases[phrase].0))
        })
        .collect();
    found.sort_unstable();
    found.dedup();
    if !found.is_empty() {
        let told = Told::of(told);
        found.retain(|&phrase| !told.is_about(&phrases[phrase].0));
    }
    let mut counts = vec![0; kinds.len()];
    found.iter().for_each(|&phrase| counts[phrases[phrase].1] += 1);
    let count: usize = counts.iter().map(|&count: &usize| count.min(OF_A_KIND)).sum();
    (count as f64 / (words.len() as f64 / WORDS).max(1.0)).min(MOST)
}

/// What a skill says of itself.
struct Told {
    stems: Vec<String>,
    /// Character by character, for scripts without spaces.
    words: Vec<String>,
}

impl Told {
    fn of(text: &str) -> Self {
        let mut stems = terms(text, Tokenizer::Stems);
        stems.sort_unstable();
        Self { stems, words: words(text) }
    }

    /// Does it say what a phrase says: all of its words that tell something?
    fn is_about(&self, phrase: &[String]) -> bool {
        if phrase.iter().any(|word| !word.is_ascii()) {
            return self.words.windows(phrase.len()).any(|words| words == phrase);
        }
        let mut telling = phrase.iter().filter(|word| !is_idle(word)).peekable();
        let has = |word: &String| {
            terms(word, Tokenizer::Stems).iter().all(|stem| self.stems.binary_search(stem).is_ok())
        };
        telling.peek().is_some() && telling.all(has)
    }
}

/// Numbers in words.
const NUMBERS: &[&str] = &[
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten",
    "eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen",
    "nineteen", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety",
    "dozen", "dozens", "hundred", "thousand", "million", "billion",
];
const CHINESE_NUMBERS: &str = "零〇一二两三四五六七八九十百千万亿";

/// What is done with two numbers or more ...
const WITH_TWO: &[&str] = &[
    "add", "added", "average", "bigger", "cent", "divide", "divided", "each", "greater", "larger",
    "minus", "modulo", "multiplied", "multiply", "percent", "percentage", "plus", "power",
    "product", "share", "smaller", "split", "subtract", "subtracted", "sum", "times", "total", "x",
];
const CHINESE_WITH_TWO: &str = "加减乘除之折均比哪倍和差积商共";

/// ... and with one.
const WITH_ONE: &[&str] = &[
    "cubed", "double", "doubled", "factorial", "fifth", "fifths", "fourth", "fourths", "half",
    "halved", "quarter", "quarters", "root", "squared", "tenth", "tenths", "third", "thirds",
    "triple", "tripled", "twice", "²", "³",
];
const CHINESE_WITH_ONE: &str = "半方根";

/// What everybody knows the parts of.
const SPANS: &[&str] = &[
    "second", "seconds", "minute", "minutes", "hour", "hours", "day", "days", "week", "weeks",
    "fortnight", "month", "months", "year", "years", "decade", "decades", "century", "centuries",
];
const CHINESE_SPANS: &str = "秒分时天周期月年纪斤两克吨米里升元角块毛";

/// What else a sum is told in, beside idle words: asking, and the apples of a school book.
const AROUND: &[&str] = &[
    "answer", "apples", "ate", "away", "bananas", "between", "by", "calculate", "candies",
    "compute", "cookies", "cube", "dollars", "eat", "eggs", "equal", "equals", "evenly", "from",
    "friends", "gave", "get", "give", "have", "i", "if", "kids", "leap", "left", "make", "many",
    "marbles", "math", "maths", "more", "much", "number", "off", "oranges", "out", "pencils",
    "people", "per", "plain", "please", "quick", "remain", "slices", "square", "sweets", "take",
    "tell", "till", "ways", "whats", "work",
];
const CHINESE_AROUND: &str = "点几等于以多少是再的又平厘公钟小算一下请帮我吗呢有个星世闰得去到了你给吃掉还剩只苹果糖钱人每打大数次立开号结果";

/// Is it a sum and nothing else: numbers, what is done with them, and words of asking? So is how many of a
/// span of time are in another ("how many hours in a week"), and how many apples are left.
pub(super) fn is_sum(request: &str) -> bool {
    let words: Vec<String> = words(request).into_iter().flat_map(signs_apart).collect();
    let is_of = |word: &str, english: &[&str], chinese: &str| {
        english.contains(&word) || chinese.contains(word)
    };
    let is_digits = |word: &str| word.chars().all(|c| c.is_ascii_digit());
    let is_number = |word: &str| is_digits(word) || is_of(word, NUMBERS, CHINESE_NUMBERS);
    let has =
        |english: &[&str], chinese: &str| words.iter().any(|word| is_of(word, english, chinese));
    let belongs = |word: &String| {
        is_number(word)
            || is_of(word, WITH_TWO, CHINESE_WITH_TWO)
            || is_of(word, WITH_ONE, CHINESE_WITH_ONE)
            || is_of(word, SPANS, CHINESE_SPANS)
            || is_of(word, AROUND, CHINESE_AROUND)
            || is_idle(word)
    };
    if !words.iter().all(belongs) {
        return false;
    }
    // A Chinese number goes on for some characters.
    let begins_number = |at: usize| {
        let goes_on = at > 0 && CHINESE_NUMBERS.contains(&words[at]) && is_number(&words[at - 1]);
        is_number(&words[at]) && !goes_on
    };
    let numbers = (0..words.len()).filter(|&at| begins_number(at)).count();
    // "The third one" has no number.
    let has_number = words.iter().any(|word| is_number(word) && word != "one" && word != "一");
    let mut spans: Vec<&String> =
        words.iter().filter(|word| is_of(word, SPANS, CHINESE_SPANS)).collect();
    spans.sort_unstable();
    spans.dedup();
    // A date has signs, too.
    let may_be_date = !spans.is_empty() && request.contains(['-', '/']);
    let has_sign = request.contains(['+', '*', '×', '÷', '%', '^', '=', '＋', '＝', '−'])
        || spans.is_empty() && request.contains(['-', '/']);
    let by_sign = has_sign && numbers >= 2 && words.iter().any(|word| is_digits(word));
    // "How many hours did I work this week" is no sum.
    let asks_how_many = has(&["many"], "几多") && !has(&["work"], "");
    by_sign
        || numbers >= 2 && has(WITH_TWO, CHINESE_WITH_TWO)
        || has_number && (has(WITH_ONE, CHINESE_WITH_ONE) || request.contains('√'))
        || asks_how_many && !may_be_date && (spans.len() >= 2 || numbers >= 2)
}

/// A number with the signs that are letters to a computer apart: "8x7", "12²".
fn signs_apart(word: String) -> Vec<String> {
    let is_sign = |c: char| matches!(c, 'x' | '²' | '³');
    let is_sum = word.starts_with(|c: char| c.is_ascii_digit())
        && !word.ends_with('x')
        && word.chars().all(|c| c.is_ascii_digit() || is_sign(c));
    if !is_sum {
        return vec![word];
    }
    let parts = word.split_inclusive(is_sign).flat_map(|part| {
        let number = part.trim_end_matches(is_sign);
        [number, &part[number.len()..]]
    });
    parts.filter(|part| !part.is_empty()).map(str::to_owned).collect()
}

/// The words of a text in lower case, without apostrophes ("what's" is one word, as many write it); of
/// scripts without spaces each character.
fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    for c in text.chars().flat_map(char::to_lowercase) {
        let stands_alone = matches!(c, '\u{2e80}'..='\u{9fff}') && c.is_alphanumeric();
        match c {
            '\'' | '’' => continue,
            _ if c.is_alphanumeric() && !stands_alone => {
                word.push(c);
                continue;
            }
            _ if !word.is_empty() => words.push(std::mem::take(&mut word)),
            _ => {}
        }
        if stands_alone {
            words.push(c.to_string());
        }
    }
    if !word.is_empty() {
        words.push(word);
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn talk_is_heard_in_both_languages() {
        for request in [
            "Thanks, that worked!",
            "make it shorter",
            "谢谢，搞定了",
            "再短点",
            "what's the capital of Peru?",
        ] {
            assert!(talk(request, "") >= 1.0, "{request}");
        }
        for request in [
            "convert EUR to USD",
            "Book a flight from Oslo to Lima for Friday",
            "把这份PDF合并成一个文件",
            "merge these two spreadsheets by customer number",
        ] {
            assert_eq!(talk(request, ""), 0.0, "{request}");
        }
    }

    #[test]
    fn a_phrase_in_a_long_request_says_less() {
        let long = "Thanks! I have a spreadsheet of orders by customer and another one of payments by date, and my \
            accountant wants one sheet with both where every order has the payment that belongs to it";
        assert!(talk("Thanks!", "") >= 1.0 && talk(long, "") < 0.7, "{}", talk(long, ""));
        let phrases = &*PHRASES;
        assert_eq!(phrases.kinds, ["chat", "you", "back", "edit", "advice", "fact", "code"]);
    }

    #[test]
    fn what_a_skill_is_about_is_no_talk() {
        assert!(talk("translate this letter", "Merges files.") >= 1.0);
        assert_eq!(talk("translate this letter", "Translates a text into other languages."), 0.0);
        let request = "把这句话翻译成英文";
        assert!(talk(request, "合并文件") > talk(request, "把文件翻译成外语"));
        assert!(talk("thanks!", "Converts an amount.") >= 1.0);
    }

    #[test]
    fn a_sum_is_nothing_else() {
        for request in [
            "what's 17 times 23",
            "14*26",
            "18% of 250",
            "98加67再减49等于几",
            "how many hours in a week?",
            "what is 15 percent of 80",
            "half of 250",
            "a third of 90",
            "12 squared",
            "12²",
            "square root of 144",
            "8 x 7",
            "8x7",
            "add 3 and 9",
            "23 minus 7",
            "one plus one",
            "a dozen times 4",
            "20% off 80",
            "2 to the power of 10",
            "how many minutes in 3 hours",
            "how many days in leap year",
            "how many seconds in a day",
            "split 90 between 4 people",
            "if i have 12 apples and give away 5 how many are left",
            "三百的百分之十五",
            "12乘以8",
            "十二加三十等于多少",
            "250的一半",
            "12的平方是多少",
            "200打八折是多少",
            "一天有多少秒",
            "一个星期有几天",
            "闰年有多少天",
            "半斤是几两",
            "我有12个苹果，吃掉5个，还剩几个",
        ] {
            assert!(is_sum(request), "{request}");
        }
        for request in [
            "QTc for 412 ms at 68 bpm",
            "monthly payment for a loan of 20,000 at 4 % over 60 months",
            "convert 20 miles to km",
            "thanks",
            "2022",
            "",
            "18 inches in cm",
            "BMI for 80 kg 1.80 m",
            "convert 100 USD to EUR",
            "log base 2 of 1024 in python",
            "how many hours did I work this week",
            "how many days from 2024-03-01 to 2024-12-25",
            "resize to 1920x1080",
            "the third one",
            "how many are there",
            "twenty-three",
            "等等",
            "几点",
            "今天星期几",
            "20英里是多少公里",
            "100美元等于多少人民币",
            "2024年3月1日到5月6日有多少天",
        ] {
            assert!(!is_sum(request), "{request}");
        }
    }
}
