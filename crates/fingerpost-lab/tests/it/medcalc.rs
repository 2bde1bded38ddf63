//! Values within limits, scores, dates, weeks and days.

use fingerpost_lab::judge::{Judge, JudgeError, judge};
use serde_json::{Value, json};

use crate::table::Expected::{Right, Wrong};
use crate::table::check;

fn decimal(answer: &str, lower: &str, upper: &str) -> Value {
    json!({
        "answer": answer, "calculator_id": 6, "output_type": "decimal", "lower_limit": lower, "upper_limit": upper,
    })
}

fn exact(kind: &str, answer: &str) -> Value {
    json!({
        "answer": answer, "calculator_id": 4, "output_type": kind, "lower_limit": answer, "upper_limit": answer,
    })
}

#[test]
fn verdicts() {
    let bmi = || decimal("27.68878", "26.30434", "29.07322");
    let deficit = || decimal("-0.82813", "-0.86954", "-0.78672");
    let risk = || decimal("29.023", "27.57185", "30.47415");
    let dose = || {
        let mut gold = decimal("53.0932", "50.43854", "55.74786");
        gold["output_type"] = json!("integer");
        gold
    };
    let score = |answer| exact("integer", answer);
    let date = |answer| exact("date", answer);
    let age = || exact("date", "('17 weeks', '4 days')");
    check(
        Judge::MedCalc,
        &[
            (bmi(), "The answer is 27.7 kg/m².", Right),
            (bmi(), "The patient's BMI is 27.7 kg/m^2.", Right),
            (bmi(), "BMI = 80 / (1.7)^2 = 27.68", Right),
            (bmi(), "{\"step_by_step_thinking\": \"80/2.89\", \"answer\": \"27.69\"}", Right),
            (bmi(), "The answer is 26.30434.", Right),
            (bmi(), "The answer is 26.2.", Wrong),
            (bmi(), "The answer is 29.1.", Wrong),
            (bmi(), "First I found 27.7. The answer is 31.2.", Wrong),
            (bmi(), "The answer is -27.7.", Wrong),
            (bmi(), "The answer is overweight.", Wrong),
            (deficit(), "The answer is -0.83 kg.", Right),
            (deficit(), "The answer is 0.83 kg.", Wrong),
            (risk(), "The answer is 29%.", Right),
            (risk(), "The answer is 0.29.", Wrong),
            (dose(), "The answer is 53 mg.", Right),
            (dose(), "The answer is 50 mg.", Wrong),
            (decimal("45.2", "42.94", "47.46"), "The GFR is 45 mL/min/1.73 m².", Right),
            (decimal("1.73", "1.6435", "1.8165"), "The GFR is 45 mL/min/1.73 m².", Wrong),
            (score("4"), "The CHA2DS2-VASc score is 4.", Right),
            (score("4"), "The answer is 4 points.", Right),
            (score("4"), "The answer is 4/9.", Right),
            (score("4"), "The answer is 1 + 1 + 2 = 4.", Right),
            (score("4"), "The answer is four.", Right),
            (score("4"), "The answer is 5.", Wrong),
            (score("4"), "The answer is 3 or 4.", Wrong),
            (score("4"), "The CURB-65 score is 3.", Wrong),
            (score("-1"), "The answer is -1.", Right),
            (score("-1"), "The answer is 1.", Wrong),
            (score("1.5"), "The answer is 1.5.", Right),
            (score("1.5"), "The answer is 2.", Wrong),
            (score("6.0"), "The answer is 6.", Right),
            (decimal("0", "0", "0"), "The answer is 0.", Right),
            (decimal("0", "0", "0"), "The answer is 1.", Wrong),
            (date("09/11/2014"), "The answer is 09/11/2014.", Right),
            (date("09/11/2014"), "9/11/2014", Right),
            (date("09/11/2014"), "The estimated due date is September 11, 2014.", Right),
            (date("09/11/2014"), "The answer is 2014-09-11.", Right),
            (date("09/11/2014"), "The answer is 11 Sep 2014.", Right),
            (date("09/11/2014"), "The answer is 11/09/2014.", Wrong),
            (date("09/11/2014"), "The answer is 09/12/2014.", Wrong),
            (date("09/11/2014"), "From 12/05/2013 on, the due date is 09/11/2014.", Right),
            (date("09/11/2014"), "The answer is 254.", Wrong),
            (age(), "The answer is (17 weeks, 4 days).", Right),
            (age(), "The answer is ('17 weeks', '4 days').", Right),
            (age(), "The gestational age is 17 weeks and 4 days.", Right),
            (age(), "The answer is 17 4/7 weeks.", Right),
            (age(), "The answer is (17, 4).", Right),
            (age(), "{\"answer\": [\"17 weeks\", \"4 days\"]}", Right),
            (age(), "\\boxed{17 \\text{ weeks, } 4 \\text{ days}}", Right),
            (age(), "The answer is (17 weeks, 5 days).", Wrong),
            (age(), "The answer is (16 weeks, 4 days).", Wrong),
            (age(), "The answer is 17 weeks.", Wrong),
            (exact("date", "('3 weeks', '0 days')"), "The answer is 3 weeks.", Right),
        ],
    );
}

#[test]
fn faults_of_the_data_are_errors() {
    let unknown = judge(Judge::MedCalc, &exact("color", "red"), "red");
    assert_eq!(
        unknown,
        Err(JudgeError::UnknownKind { dataset: "medcalcbench", kind: "color".to_owned() })
    );
    let missing = judge(Judge::MedCalc, &json!({ "answer": "4" }), "4");
    assert_eq!(
        missing,
        Err(JudgeError::MissingField { dataset: "medcalcbench", field: "output_type" })
    );
    assert!(judge(Judge::MedCalc, &decimal("4", "x", "5"), "4").is_err());
}
