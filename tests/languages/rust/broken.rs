fn main() {
    let n: i32 = "text";
}
