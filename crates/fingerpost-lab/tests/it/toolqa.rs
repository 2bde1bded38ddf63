//! Facts of tables: times, dates, numbers, lists, names.

use fingerpost_lab::judge::Judge;
use serde_json::{Value, json};

use crate::table::Expected::{Right, Wrong};
use crate::table::check;

fn gold(answer: &str) -> Value {
    json!({ "answer": answer })
}

#[test]
fn times_and_dates() {
    check(
        Judge::ToolQa,
        &[
            (gold("8:00 PM"), "The answer is 8:00 PM.", Right),
            (gold("8:00 PM"), "The answer is 20:00.", Right),
            (gold("8:00 PM"), "The answer is 8 p.m.", Right),
            (gold("8:00 PM"), "It took place at 8:00 PM.", Right),
            (gold("8:00 PM"), "\\boxed{8:00 \\text{ PM}}", Right),
            (gold("8:00 PM"), "The answer is 8:00 PM or 9:00 PM.", Wrong),
            (gold("8:00 PM"), "The answer is 8:00 AM.", Wrong),
            (gold("8:00 PM"), "The answer is 8:30 PM.", Wrong),
            (gold("8:00 PM"), "It began at 8:00 PM? The answer is 9:00 PM.", Wrong),
            (gold("12:00 PM"), "The answer is noon.", Right),
            (gold("12:00 PM"), "The answer is 12:00 AM.", Wrong),
            (gold("21:43"), "The answer is 9:43 PM.", Right),
            (gold("7:51"), "The answer is 07:51.", Right),
            (gold("7:51"), "The answer is 7:51 PM.", Wrong),
            (gold("3:00:00"), "The answer is 3 hours.", Right),
            (gold("3:00:00"), "The answer is 3:00:00.", Right),
            (gold("1:30:00"), "The answer is 1 hour and 30 minutes.", Right),
            (gold("1:30:00"), "The answer is 90 minutes.", Right),
            (gold("1:30:00"), "The answer is 1.5 hours.", Right),
            (gold("1:30:00"), "The answer is 1 hour.", Wrong),
            (
                gold("9:00 AM-1:00 PM, 3:00 PM-6:00 PM"),
                "The answer is 9:00 AM-1:00 PM, 3:00 PM-6:00 PM.",
                Right,
            ),
            (
                gold("9:00 AM-1:00 PM, 3:00 PM-6:00 PM"),
                "The answer is from 9 AM to 1 PM and from 15:00 to 18:00.",
                Right,
            ),
            (gold("9:00 AM-1:00 PM, 3:00 PM-6:00 PM"), "The answer is 9:00 AM-1:00 PM.", Wrong),
            (gold("9:00 AM-1:00 PM, 3:00 PM-6:00 PM"), "The answer is 9:00 AM-6:00 PM.", Wrong),
            (
                gold("Thursday: 16:0-19:0, Friday: 9:0-23:0"),
                "The answer is Thursday: 4:00 PM - 7:00 PM, Friday: 9:00 AM - 11:00 PM.",
                Right,
            ),
            (
                gold("Thursday: 16:0-19:0, Friday: 9:0-23:0"),
                "The answer is Thursday: 16:00-19:00.",
                Wrong,
            ),
            (
                gold("Thursday: 16:0-19:0, Friday: 9:0-23:0"),
                "The answer is Thursday: 9:00-23:00, Friday: 16:00-19:00.",
                Wrong,
            ),
            (gold("7/4/2019"), "The answer is July 4, 2019.", Right),
            (gold("7/4/2019"), "The answer is 2019-07-04.", Right),
            (gold("7/4/2019"), "The answer is 2019-07-05.", Wrong),
            (gold("2016-11-10"), "The answer is 2016/11/10.", Right),
            (gold("2016-11-10"), "The answer is November 10th, 2016.", Right),
            (gold("2016-11-10"), "The answer is 2017-11-10.", Wrong),
        ],
    );
}

#[test]
fn numbers() {
    check(
        Judge::ToolQa,
        &[
            (gold("24"), "The answer is 24.", Right),
            (gold("24"), "There are 24 events.", Right),
            (gold("24"), "There were 24 events on 2022/09/25.", Right),
            (gold("24"), "24 events are scheduled on 2022/09/25.", Right),
            (gold("24"), "The answer is 25.", Wrong),
            (gold("24"), "The answer is 24 or 25.", Wrong),
            (gold("24"), "Not 24 but 23 events. The answer is 23.", Wrong),
            (gold("33418"), "The answer is 33,418.", Right),
            (gold("33418"), "The answer is 33419.", Wrong),
            (gold("$479 "), "The answer is $479.", Right),
            (gold("$479 "), "The answer is 479 dollars.", Right),
            (gold("$1,146 "), "The answer is 1146.", Right),
            (gold("$1,146 "), "The answer is $1,164.", Wrong),
            (gold("$ 42450.0"), "The answer is $42,450.", Right),
            (gold("306.25 USD"), "The answer is 306.25.", Right),
            (gold("306.25 USD"), "The answer is USD 306.25.", Right),
            (gold("106.7 USD"), "The answer is 106.68 USD.", Right),
            (gold("106.7 USD"), "The answer is 107.7 USD.", Wrong),
            (gold("-36.6 USD"), "The answer is -36.6 USD.", Right),
            (gold("-36.6 USD"), "The answer is a decrease of 36.6 USD.", Right),
            (gold("-36.6 USD"), "The answer is 36.6 USD.", Wrong),
            (gold("-1.39%"), "The answer is -1.39%.", Right),
            (gold("-1.39%"), "The answer is 1.39%.", Wrong),
            (gold("81.6%"), "The answer is 81.6.", Right),
            (gold("81.6%"), "The answer is 0.816.", Right),
            (gold("81.6%"), "The answer is 81.9%.", Wrong),
            (gold("0.438"), "The answer is 43.8%.", Right),
            (gold("198.2 minutes"), "The answer is 198.2 minutes.", Right),
            (gold("198.2 minutes"), "The answer is about 198.23.", Right),
            (gold("22M"), "The answer is 22M.", Right),
            (gold("22M"), "The answer is 22 million.", Right),
            (gold("22M"), "The answer is 22.", Wrong),
            (gold("220k"), "The answer is 220,000.", Right),
            (gold("4.0"), "The answer is 4.", Right),
            (gold("08083"), "The answer is 08083.", Right),
            (gold("08083"), "The answer is 8084.", Wrong),
            (gold("nan"), "The answer is nan.", Right),
            (gold("nan"), "The answer is not available.", Right),
            (gold("nan"), "The answer is 7/4/2019.", Wrong),
            (gold(""), "The answer is unknown.", Right),
            (gold(""), "The answer is Peking University.", Wrong),
            (gold("905, 1309"), "The answer is 1309 and 905.", Right),
            (gold("905, 1309"), "The answer is [905, 1309].", Right),
            (gold("905, 1309"), "The answer is 905.", Wrong),
            (gold("905, 1309"), "The answer is 905, 1309, 1310.", Wrong),
            (gold("39.9288599, -75.1566897"), "The answer is (39.9289, -75.1567).", Right),
            (gold("39.9288599, -75.1566897"), "The answer is 39.9288599, 75.1566897.", Wrong),
            (gold("39.9288599, -75.1566897"), "The answer is -75.1566897, 39.9288599.", Wrong),
        ],
    );
}

#[test]
fn names() {
    check(
        Judge::ToolQa,
        &[
            (gold("Joseph"), "The answer is Joseph.", Right),
            (gold("Joseph"), "The answer is Joseph, who attended it in May.", Right),
            (gold("Joseph"), "The host's name is Joseph.", Right),
            (gold("Joseph"), "{\"answer\": \"joseph\"}", Right),
            (gold("Joseph"), "\\boxed{\\text{Joseph}}", Right),
            (gold("Joseph"), "<answer>Joseph</answer>", Right),
            (gold("Joseph"), "The answer is Josephine.", Wrong),
            (gold("Joseph"), "The answer is Joseph or Mary.", Wrong),
            (gold("Joseph"), "Joseph was there first. The answer is Mary.", Wrong),
            (gold("Joseph"), "The answer is not Joseph.", Wrong),
            (gold("The Poetry Foundation"), "The answer is Poetry Foundation.", Right),
            (
                gold("LA Fitness Aquatic Center "),
                "The answer is the LA Fitness Aquatic Center.",
                Right,
            ),
            (gold("Entire home/apt"), "The answer is Entire home/apt.", Right),
            (gold("Entire home/apt"), "The answer is Private room.", Wrong),
            (gold("UA5839"), "The answer is UA 5839.", Right),
            (gold("UA5839"), "The answer is UA5838.", Wrong),
            (gold("CNN___Daily_Mail"), "The answer is CNN / Daily Mail.", Right),
            (
                gold("\u{201c}No Place Like Home\u{201d}\n1st Floor Suburban Apt."),
                "The answer is \"No Place Like Home\" 1st Floor Suburban Apt.",
                Right,
            ),
            (gold("bullish"), "It was a bullish day.\nAnswer: bullish", Right),
            (gold("bullish"), "Answer: bearish", Wrong),
            (gold("Yes"), "The answer is yes, it is open.", Right),
            (gold("Yes"), "The answer is no.", Wrong),
            (gold("No"), "The flight was not cancelled. The answer is no.", Right),
            (gold("PA"), "The answer is PA.", Right),
            (gold("PA"), "The answer is NJ.", Wrong),
            (
                gold("Jason Crampton, George Loizou"),
                "The answer is George Loizou and Jason Crampton.",
                Right,
            ),
            (
                gold("Jason Crampton, George Loizou"),
                "The answer is [Jason Crampton; George Loizou].",
                Right,
            ),
            (
                gold("Jason Crampton, George Loizou"),
                "Answer:\n- George Loizou\n- Jason Crampton\n",
                Right,
            ),
            (
                gold("Jason Crampton, George Loizou"),
                "Answer:\n1. George Loizou\n2. Jason Crampton\n",
                Right,
            ),
            (gold("Jason Crampton, George Loizou"), "The answer is Jason Crampton.", Wrong),
            (
                gold("Jason Crampton, George Loizou"),
                "The answer is Jason Crampton, George Loizou, and Ned Greene.",
                Wrong,
            ),
            (gold("Xu Zhu, Xu Zhu"), "The answer is Xu Zhu.", Right),
            (
                gold("David Fernández-Gutiérrez, Wei Wang"),
                "The answer is Wei Wang, David Fernandez-Gutierrez.",
                Right,
            ),
            (
                gold("Beauty & Spas, Nail Salons"),
                "The answer is Nail Salons, Beauty and Spas.",
                Right,
            ),
            (gold("MAP, MRR"), "{\"answer\": [\"MRR\", \"MAP\"]}", Right),
            (gold("MAP, MRR"), "The answer is MAP.", Wrong),
        ],
    );
}
