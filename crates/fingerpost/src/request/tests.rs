//! What is left of requests as people write them, and what they name.

use super::*;

/// Requests that refuse something, and what is then wanted.
const REFUSALS: [(&str, &str); 47] = [
    (
        "two commits on main, nothing pushed. no cherry-picking: keep them as feature-x",
        "two commits on main, nothing pushed. : keep them as feature-x",
    ),
    (
        "We have his W-9 on file, so no W-2. Which form carries the 12,400 we wired him?",
        "We have his W-9 on file, so . Which form carries the 12,400 we wired him?",
    ),
    (
        "no helm, no templates: yaml for the api in our cluster with an ingress",
        ", : yaml for the api in our cluster with an ingress",
    ),
    (
        "No performance review please, at some point a commit made the startup slow, narrow it down",
        ", at some point a commit made the startup slow, narrow it down",
    ),
    (
        "no comments and no list of nits, read the diff and make the code right yourself",
        ", read the diff and make the code right yourself",
    ),
    (
        "Take the text out of thesis.pdf in two columns, no OCR needed",
        "Take the text out of thesis.pdf in two columns,",
    ),
    (
        "never mind tomorrow's forecast: how warm is it outside in Izmir this minute?",
        ": how warm is it outside in Izmir this minute?",
    ),
    ("Review this patch, please don't modify the code", "Review this patch, please"),
    (
        "review my branch against main and give me comments, dont change anything",
        "review my branch against main and give me comments,",
    ),
    (
        "Close the account DA-12345 and archive it, but don't send out any notifications",
        "Close the account DA-12345 and archive it, but",
    ),
    (
        "Keep the layout of the slides and do not touch the fonts",
        "Keep the layout of the slides and",
    ),
    (
        "What is the court case with docket number 123456? Do not return full text!",
        "What is the court case with docket number 123456? !",
    ),
    (
        "go through my unread mails and tell me which I can ignore, don't write any replies",
        "go through my unread mails and tell me which I can ignore,",
    ),
    (
        "don't convert it to ckd-epi 2021! the registry wants the abbreviated MDRD equation",
        "! the registry wants the abbreviated MDRD equation",
    ),
    (
        "I don't need the list of tools, just the main tech stack of project 1234",
        ", just the main tech stack of project 1234",
    ),
    (
        "I don't want a forecast, how much snow does Sapporo usually have in February?",
        ", how much snow does Sapporo usually have in February?",
    ),
    (
        "We do not really need the whole incident, the earliest line in app.jsonl is enough",
        ", the earliest line in app.jsonl is enough",
    ),
    (
        "I don't care about garage space, find a rental in Denver with laundry",
        ", find a rental in Denver with laundry",
    ),
    (
        "Is anything coming down at this moment? I don’t care about later today",
        "Is anything coming down at this moment?",
    ),
    (
        "I don't mean the average for that date. on 14 june 1997, in galway, how warm was it",
        ". on 14 june 1997, in galway, how warm was it",
    ),
    ("Reword this sentence, it doesn't need translating", "Reword this sentence,"),
    (
        "I'm not after more speed, what did the optimised login open up for attackers?",
        ", what did the optimised login open up for attackers?",
    ),
    (
        "I'm not asking for a security audit. Take each remark and answer it",
        ". Take each remark and answer it",
    ),
    (
        "We're not interested in museums, find parks in Toronto for children",
        ", find parks in Toronto for children",
    ),
    ("points for thromboembolism, not for bleeding", "points for thromboembolism,"),
    (
        "750 mL over 6 hours, macro set 15, I need the drops not the ml/h",
        "750 mL over 6 hours, macro set 15, I need the drops",
    ),
    (
        "divide the QT of 402 ms by the square root of RR, not the cube root",
        "divide the QT of 402 ms by the square root of RR,",
    ),
    ("not postgres, just the database in one file", ", just the database in one file"),
    (
        "not a postmortem of the last failover, but instructions for the next one at night",
        ", but instructions for the next one at night",
    ),
    ("I'm looking to rent a house in Austin, not buy", "I'm looking to rent a house in Austin,"),
    (
        "Not what July is usually like in Athens. I want the high and the low on 26 July",
        ". I want the high and the low on 26 July",
    ),
    (
        "the ckd-epi equation but not the 2021 creatinine one, cystatin 1.05, age 58",
        "the ckd-epi equation but , cystatin 1.05, age 58",
    ),
    (
        "apply the corrections to this branch instead of listing them",
        "apply the corrections to this branch",
    ),
    (
        "Turn this into the write-up we publish, with roles rather than names",
        "Turn this into the write-up we publish, with roles",
    ),
    (
        "Give me the snow report for Jackson Hole instead of Snowmass, in metric units",
        "Give me the snow report for Jackson Hole , in metric units",
    ),
    ("Fix the failing build without touching the tests", "Fix the failing build"),
    ("simplify this legal document without altering its meaning", "simplify this legal document"),
    (
        "Convert this call to another voice without changing the content.",
        "Convert this call to another voice .",
    ),
    (
        "give me the gist of this chapter in five bullets, no need to make the language easier",
        "give me the gist of this chapter in five bullets,",
    ),
    ("只看代码，不要修改文件，给出意见", "只看代码， ，给出意见"),
    (
        "把采购合同正文和附件按顺序拼成一个文件，不用审也不用摘要",
        "把采购合同正文和附件按顺序拼成一个文件，",
    ),
    ("请勿翻译专有名词，把这段话改成英文", " ，把这段话改成英文"),
    (
        "写一份上半年安全生产工作情况，报给市局，不需要他们批复",
        "写一份上半年安全生产工作情况，报给市局，",
    ),
    ("订一张下午三点去上海的火车票，请不要卧铺", "订一张下午三点去上海的火车票，请"),
    ("不是问生孩子那个津贴，我住院花了一万四，自己要掏多少", " ，我住院花了一万四，自己要掏多少"),
    ("整理这份会议记录，别删掉待办事项，列出负责人", "整理这份会议记录， ，列出负责人"),
    ("展示各部门的季度支出，用柱状图而不是饼图", "展示各部门的季度支出，用柱状图"),
];

/// Requests with a negative word that refuse nothing.
const NO_REFUSALS: [&str; 59] = [
    "The pediatrician was there, and no resuscitation was needed. Which score?",
    "delete the old backup files that are no longer needed",
    "No reviewer has looked at PR 618 yet, be the first",
    "no systemd on this old host, run the thing on the first monday of each month",
    "Male, 44, calf swollen. No fever, no cough, back surgery two weeks ago",
    "The left leg is warm but not swollen, what score does she have?",
    "A man owns a cat. Is his cat not a pet?",
    "Why won't my Kubernetes pod start?",
    "Why can't I understand myself?",
    "My printer is not working despite being connected",
    "I can't connect to the server since the update",
    "the page doesn't load after login, find out what happens",
    "My website isn't loading on phones",
    "There is no backup of the database, what can I do?",
    "I have no coding skills, can you build me an iOS app?",
    "I have no idea how long the loan takes",
    "Why not use a cube root here?",
    "Why don't you show the weekly totals?",
    "Don't you have a skill that merges PDF files?",
    "I don't know how to code a web app",
    "Don't know which formula this is: QT divided by the root of RR",
    "I don't understand this tutorial on playing the piano",
    "I cannot find the catalog and manual for my pump",
    "I can't believe the price of Bitcoin keeps going up",
    "It never has up-to-date info on the surf",
    "Don't forget to add the invoice number to the mail",
    "set a reminder for my meeting so I don't forget",
    "If I don't need the loan any more, what does paying it off cost?",
    "I don't want to miss the sunset in Lisbon, when is it?",
    "So I don't need a visa for Japan?",
    "check whether the certificate has expired or not",
    "I'm not sure if a cat sneaked into this picture",
    "Not sure which test fits: two groups, skewed numbers",
    "Not working: the export button of the report",
    "The build works on my machine but not in CI",
    "The story should not exceed five hundred words",
    "What are the penalties for driving without a license in California?",
    "How likely is a stroke without treatment?",
    "She is 71, with no diabetes and no heart failure, hypertensive",
    "Beethoven's Symphony No. 9, who conducted it first?",
    "I received a blue shirt instead of the red one I ordered",
    "my job prints zeros instead of the totals, it returns nothing instead of rows",
    "all files except the drafts, in one archive",
    "Send the message \"Don't feed the cat, do not open the door\" to Anna",
    "Read exchange.docx and tell me who did not give a gift",
    "My reviewer won't merge until there is a test",
    "The patient was a drinker, but not a smoker",
    "识别图片中的文字",
    "这只鸟属于哪个类别",
    "我的系统为什么不能启动",
    "北京和上海的区别是什么，特别是房价",
    "服务器没有响应，怎么办",
    "这笔奖金要不要交税",
    "年终奖是不是单独计税",
    "请分别列出三个季度的收入",
    "这种情况我不用交税吗？",
    "别忘了把发票号写进邮件",
    "收到的是蓝色衬衫而不是红色T恤，怎么投诉",
    "给我推荐别的旅行路线，不要错过古镇",
];

fn in_one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn what_is_refused_is_left_out() {
    for (request, expected) in REFUSALS {
        assert_eq!(in_one_line(&wanted(request)), expected.trim(), "{request}");
    }
}

#[test]
fn questions_complaints_and_facts_are_wanted() {
    for request in NO_REFUSALS {
        assert_eq!(wanted(request), request);
    }
}

#[test]
fn what_is_left_must_still_be_the_request() {
    // One word of three, or of two, is no request any more.
    for request in [
        "only review, don't modify code",
        "not after bugs",
        "don't use the big calculator for this, the small one",
        "不要修改文件",
        "改，不要删除任何一个文件",
    ] {
        assert_eq!(wanted(request), request);
    }
}

#[test]
fn a_refusal_ends_with_its_clause_or_after_eight_words() {
    let wished = "Merge the four quarterly reports of the sales team in Lyon into one file, then mail it to Anna";
    let request = format!("{wished}, don't one two three four five six seven eight nine");
    assert_eq!(in_one_line(&wanted(&request)), format!("{wished}, nine"));
    let request = "把这几份季度报告按顺序合并成一个文件再发给我，不要一二三四五六七八九十一二三四";
    assert_eq!(
        in_one_line(&wanted(request)),
        "把这几份季度报告按顺序合并成一个文件再发给我， 三四"
    );
}

#[test]
fn a_request_means_what_it_wants() {
    let request = Request::read("use pdf-forms to fill in the form, don't translate anything");
    assert_eq!(request.named, ["pdf-forms"]);
    assert!(!request.wanted.contains("translate"), "{request:?}");
    let meaning = Lexicon::get().meaning("use pdf-forms to fill in the form");
    assert_eq!(request.meaning, meaning);
}

#[test]
fn what_is_pointed_at_may_be_a_name() {
    assert_eq!(named("use pdf-forms on this file"), ["pdf-forms"]);
    assert_eq!(named("请使用pdf-forms处理，再用汇总技能"), ["pdf-forms", "汇总"]);
    assert_eq!(named("/search for me"), ["search"]);
    assert_eq!(named("please use the `search` thing"), ["search"]);
    assert_eq!(named("Use the search skill"), ["search"]);
    assert_eq!(named("search the web"), [""; 0]);
}

#[test]
fn a_name_is_left_out_only_if_it_is_refused() {
    for refused in [
        "do it by hand, don't use pdf-forms",
        "fill this in without pdf-forms",
        "fill this in, not with pdf-forms",
        "take the other one instead of pdf-forms",
        "不要用pdf-forms",
        "别用pdf-forms，换一个",
    ] {
        assert_eq!(named(refused), [""; 0], "{refused}");
    }
    for wanted in [
        "why won't pdf-forms open this?",
        "I cannot do this by hand so use pdf-forms",
        "this is not easy for me: run pdf-forms",
        "识别图片用pdf-forms",
        "特别想用pdf-forms",
    ] {
        assert_eq!(named(wanted), ["pdf-forms"], "{wanted}");
    }
}
