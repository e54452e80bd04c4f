use std::collections::HashMap;
use std::io::{BufRead, Write};
use std::{env, fs, io, process, thread};

fn member<'a>(json: &'a str, key: &str) -> &'a str {
    let at = json.find(&format!("\"{}\":", key)).expect("no such member") + key.len() + 3;
    json[at..].split(|c| c == ',' || c == '}').next().unwrap().trim()
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = env::args().skip(1).collect();
    match args.first().map(String::as_str) {
        Some("fail") => {
            eprintln!("no such thing: 42");
            process::exit(3);
        }
        Some("throw") => panic!("thrown on purpose"),
        _ => {}
    }
    let input = fs::read_to_string(env::var("WARDER_INPUT")?)?;
    let factor: i64 = member(&input, "factor").parse()?;
    let mut numbers = Vec::new();
    for line in io::stdin().lock().lines() {
        numbers.push(line?.parse::<i64>()?);
    }
    numbers.sort_unstable();
    let squares: HashMap<i64, i64> = numbers
        .iter()
        .map(|&n| thread::spawn(move || (n, n * n)))
        .map(|t| t.join().unwrap())
        .collect();
    let mut report = fs::File::create("report.csv")?;
    for n in &numbers {
        writeln!(report, "{},{}", n, squares[n])?;
    }
    fs::create_dir("out")?;
    fs::write("out/large.txt", "x".repeat(100000))?;
    let total: i64 = numbers.iter().sum();
    println!("sum {}", total);
    println!("{}", args.join("|"));
    let name = member(&input, "name");
    let result = format!("{{\"scaled\": {}, \"name\": {}, \"sorted\": {:?}}}", total * factor, name, numbers);
    fs::OpenOptions::new().write(true).open(env::var("WARDER_RESULT")?)?.write_all(result.as_bytes())?;
    Ok(())
}
