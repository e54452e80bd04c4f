// harness: what stands around a piece of Rust that is a function of JSON to JSON.
//
// This file is the root of the crate, and the only one that is compiled by name. The user's source lies beside it as
// main.rs and is included as it is: what the compiler says about it carries its own name and its own lines. It has to hold
// `fn run(input: Value) -> Value`. Value and the module serde_json are in scope without a `use`; the module has the usual
// names for what is here of them (Value, Map, Number, json!, from_str, to_string, to_string_pretty, to_value), made of
// nothing but std. An explicit `use serde_json::...` at the top of the user's file works, too.
//
// The input is read from the path in WARDER_INPUT (absent or empty: null), the result is written to the path in
// WARDER_RESULT (absent: to standard output). /dev/fd/N means the descriptor itself. Input that is no JSON and a result that
// cannot be written end the program with status 2.
// Compiles with Rust 1.63 and later, edition 2021.
#![recursion_limit = "1024"]

#[allow(dead_code, unused_imports, unused_macros)]
mod serde_json {
    use std::borrow::Cow;
    use std::collections::{BTreeMap, HashMap};
    use std::fmt;
    use std::ops::{Index, IndexMut};

    pub type Map<K, V> = BTreeMap<K, V>;
    pub type Result<T> = std::result::Result<T, Error>;

    // ---- numbers ----

    #[derive(Clone, Copy, Debug, PartialEq)]
    enum N {
        Unsigned(u64),
        Negative(i64),
        Float(f64),
    }

    /// A number of JSON: a whole one of 64 bits, or a finite f64.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct Number(N);

    impl Number {
        pub fn from_f64(value: f64) -> Option<Number> {
            if value.is_finite() {
                Some(Number(N::Float(value)))
            } else {
                None
            }
        }

        pub fn as_i64(&self) -> Option<i64> {
            match self.0 {
                N::Unsigned(n) if n <= i64::MAX as u64 => Some(n as i64),
                N::Negative(n) => Some(n),
                _ => None,
            }
        }

        pub fn as_u64(&self) -> Option<u64> {
            match self.0 {
                N::Unsigned(n) => Some(n),
                _ => None,
            }
        }

        pub fn as_f64(&self) -> Option<f64> {
            Some(match self.0 {
                N::Unsigned(n) => n as f64,
                N::Negative(n) => n as f64,
                N::Float(n) => n,
            })
        }

        pub fn is_i64(&self) -> bool {
            self.as_i64().is_some()
        }

        pub fn is_u64(&self) -> bool {
            self.as_u64().is_some()
        }

        pub fn is_f64(&self) -> bool {
            matches!(self.0, N::Float(_))
        }
    }

    impl fmt::Display for Number {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            match self.0 {
                N::Unsigned(n) => write!(f, "{}", n),
                N::Negative(n) => write!(f, "{}", n),
                N::Float(n) => write!(f, "{:?}", n),
            }
        }
    }

    // ---- values ----

    #[derive(Clone, Debug, PartialEq)]
    pub enum Value {
        Null,
        Bool(bool),
        Number(Number),
        String(String),
        Array(Vec<Value>),
        Object(Map<String, Value>),
    }

    static NULL: Value = Value::Null;

    impl Default for Value {
        fn default() -> Value {
            Value::Null
        }
    }

    impl Value {
        pub fn get<I: Place>(&self, index: I) -> Option<&Value> {
            index.locate(self)
        }

        pub fn get_mut<I: Place>(&mut self, index: I) -> Option<&mut Value> {
            index.locate_mut(self)
        }

        /// RFC 6901.
        pub fn pointer(&self, pointer: &str) -> Option<&Value> {
            if pointer.is_empty() {
                return Some(self);
            }
            let mut at = self;
            for step in pointer.strip_prefix('/')?.split('/') {
                let key = step.replace("~1", "/").replace("~0", "~");
                at = match at {
                    Value::Object(members) => members.get(&key)?,
                    Value::Array(elements) => elements.get(key.parse::<usize>().ok()?)?,
                    _ => return None,
                };
            }
            Some(at)
        }

        pub fn take(&mut self) -> Value {
            std::mem::replace(self, Value::Null)
        }

        pub fn is_null(&self) -> bool {
            matches!(self, Value::Null)
        }

        pub fn is_boolean(&self) -> bool {
            matches!(self, Value::Bool(_))
        }

        pub fn is_number(&self) -> bool {
            matches!(self, Value::Number(_))
        }

        pub fn is_string(&self) -> bool {
            matches!(self, Value::String(_))
        }

        pub fn is_array(&self) -> bool {
            matches!(self, Value::Array(_))
        }

        pub fn is_object(&self) -> bool {
            matches!(self, Value::Object(_))
        }

        pub fn is_i64(&self) -> bool {
            self.as_i64().is_some()
        }

        pub fn is_u64(&self) -> bool {
            self.as_u64().is_some()
        }

        pub fn is_f64(&self) -> bool {
            matches!(self, Value::Number(n) if n.is_f64())
        }

        pub fn as_null(&self) -> Option<()> {
            if self.is_null() {
                Some(())
            } else {
                None
            }
        }

        pub fn as_bool(&self) -> Option<bool> {
            match self {
                Value::Bool(value) => Some(*value),
                _ => None,
            }
        }

        pub fn as_number(&self) -> Option<&Number> {
            match self {
                Value::Number(value) => Some(value),
                _ => None,
            }
        }

        pub fn as_i64(&self) -> Option<i64> {
            self.as_number()?.as_i64()
        }

        pub fn as_u64(&self) -> Option<u64> {
            self.as_number()?.as_u64()
        }

        pub fn as_f64(&self) -> Option<f64> {
            self.as_number()?.as_f64()
        }

        pub fn as_str(&self) -> Option<&str> {
            match self {
                Value::String(value) => Some(value),
                _ => None,
            }
        }

        pub fn as_array(&self) -> Option<&Vec<Value>> {
            match self {
                Value::Array(value) => Some(value),
                _ => None,
            }
        }

        pub fn as_array_mut(&mut self) -> Option<&mut Vec<Value>> {
            match self {
                Value::Array(value) => Some(value),
                _ => None,
            }
        }

        pub fn as_object(&self) -> Option<&Map<String, Value>> {
            match self {
                Value::Object(value) => Some(value),
                _ => None,
            }
        }

        pub fn as_object_mut(&mut self) -> Option<&mut Map<String, Value>> {
            match self {
                Value::Object(value) => Some(value),
                _ => None,
            }
        }
    }

    /// What a value can be indexed by: a member's name or an element's number.
    pub trait Place {
        fn locate<'a>(&self, value: &'a Value) -> Option<&'a Value>;
        fn locate_mut<'a>(&self, value: &'a mut Value) -> Option<&'a mut Value>;
        fn make_in<'a>(&self, value: &'a mut Value) -> &'a mut Value;
    }

    impl Place for str {
        fn locate<'a>(&self, value: &'a Value) -> Option<&'a Value> {
            value.as_object()?.get(self)
        }

        fn locate_mut<'a>(&self, value: &'a mut Value) -> Option<&'a mut Value> {
            value.as_object_mut()?.get_mut(self)
        }

        fn make_in<'a>(&self, value: &'a mut Value) -> &'a mut Value {
            if value.is_null() {
                *value = Value::Object(Map::new());
            }
            match value {
                Value::Object(members) => members.entry(self.to_string()).or_insert(Value::Null),
                _ => panic!("a member {:?} of what is no object", self),
            }
        }
    }

    impl Place for String {
        fn locate<'a>(&self, value: &'a Value) -> Option<&'a Value> {
            self.as_str().locate(value)
        }

        fn locate_mut<'a>(&self, value: &'a mut Value) -> Option<&'a mut Value> {
            self.as_str().locate_mut(value)
        }

        fn make_in<'a>(&self, value: &'a mut Value) -> &'a mut Value {
            self.as_str().make_in(value)
        }
    }

    impl Place for usize {
        fn locate<'a>(&self, value: &'a Value) -> Option<&'a Value> {
            value.as_array()?.get(*self)
        }

        fn locate_mut<'a>(&self, value: &'a mut Value) -> Option<&'a mut Value> {
            value.as_array_mut()?.get_mut(*self)
        }

        fn make_in<'a>(&self, value: &'a mut Value) -> &'a mut Value {
            match value {
                Value::Array(elements) => &mut elements[*self],
                _ => panic!("an element {} of what is no array", self),
            }
        }
    }

    impl<T: Place + ?Sized> Place for &T {
        fn locate<'a>(&self, value: &'a Value) -> Option<&'a Value> {
            (**self).locate(value)
        }

        fn locate_mut<'a>(&self, value: &'a mut Value) -> Option<&'a mut Value> {
            (**self).locate_mut(value)
        }

        fn make_in<'a>(&self, value: &'a mut Value) -> &'a mut Value {
            (**self).make_in(value)
        }
    }

    impl<I: Place> Index<I> for Value {
        type Output = Value;

        /// What is not there is null.
        fn index(&self, index: I) -> &Value {
            index.locate(self).unwrap_or(&NULL)
        }
    }

    impl<I: Place> IndexMut<I> for Value {
        fn index_mut(&mut self, index: I) -> &mut Value {
            index.make_in(self)
        }
    }

    // ---- values out of what Rust has ----

    /// What has a form in JSON. Values are made from references, so that json!() takes nothing away.
    pub trait Serialize {
        fn value(&self) -> Value;
    }

    macro_rules! unsigned {
        ($($t:ty)*) => { $(
            impl From<$t> for Number {
                fn from(n: $t) -> Number {
                    Number(N::Unsigned(n as u64))
                }
            }
            scalar!($t, n, Value::Number(Number::from(n)));
            impl PartialEq<$t> for Value {
                fn eq(&self, other: &$t) -> bool {
                    self.as_u64() == Some(*other as u64)
                }
            }
        )* };
    }

    macro_rules! signed {
        ($($t:ty)*) => { $(
            impl From<$t> for Number {
                fn from(n: $t) -> Number {
                    if n < 0 {
                        Number(N::Negative(n as i64))
                    } else {
                        Number(N::Unsigned(n as u64))
                    }
                }
            }
            scalar!($t, n, Value::Number(Number::from(n)));
            impl PartialEq<$t> for Value {
                fn eq(&self, other: &$t) -> bool {
                    self.as_i64() == Some(*other as i64)
                }
            }
        )* };
    }

    macro_rules! float {
        ($($t:ty)*) => { $(
            scalar!($t, n, Number::from_f64(n as f64).map_or(Value::Null, Value::Number));
            impl PartialEq<$t> for Value {
                fn eq(&self, other: &$t) -> bool {
                    self.as_f64() == Some(*other as f64)
                }
            }
        )* };
    }

    macro_rules! scalar {
        ($t:ty, $name:ident, $value:expr) => {
            impl From<$t> for Value {
                fn from($name: $t) -> Value {
                    $value
                }
            }
            impl Serialize for $t {
                fn value(&self) -> Value {
                    Value::from(*self)
                }
            }
        };
    }

    unsigned!(u8 u16 u32 u64 usize);
    signed!(i8 i16 i32 i64 isize);
    float!(f32 f64);
    scalar!(bool, truth, Value::Bool(truth));
    scalar!(char, character, Value::String(character.to_string()));
    scalar!((), _nothing, Value::Null);

    impl PartialEq<bool> for Value {
        fn eq(&self, other: &bool) -> bool {
            self.as_bool() == Some(*other)
        }
    }

    impl PartialEq<str> for Value {
        fn eq(&self, other: &str) -> bool {
            self.as_str() == Some(other)
        }
    }

    impl PartialEq<&str> for Value {
        fn eq(&self, other: &&str) -> bool {
            self.as_str() == Some(*other)
        }
    }

    impl PartialEq<String> for Value {
        fn eq(&self, other: &String) -> bool {
            self.as_str() == Some(other.as_str())
        }
    }

    impl From<Number> for Value {
        fn from(number: Number) -> Value {
            Value::Number(number)
        }
    }

    impl From<&str> for Value {
        fn from(text: &str) -> Value {
            Value::String(text.to_string())
        }
    }

    impl From<String> for Value {
        fn from(text: String) -> Value {
            Value::String(text)
        }
    }

    impl From<Cow<'_, str>> for Value {
        fn from(text: Cow<'_, str>) -> Value {
            Value::String(text.into_owned())
        }
    }

    impl From<Map<String, Value>> for Value {
        fn from(members: Map<String, Value>) -> Value {
            Value::Object(members)
        }
    }

    impl<T: Into<Value>> From<Vec<T>> for Value {
        fn from(elements: Vec<T>) -> Value {
            elements.into_iter().collect()
        }
    }

    impl<T: Into<Value> + Clone> From<&[T]> for Value {
        fn from(elements: &[T]) -> Value {
            elements.iter().cloned().collect()
        }
    }

    impl<T: Into<Value>, const LENGTH: usize> From<[T; LENGTH]> for Value {
        fn from(elements: [T; LENGTH]) -> Value {
            elements.into_iter().collect()
        }
    }

    impl<T: Into<Value>> From<Option<T>> for Value {
        fn from(value: Option<T>) -> Value {
            value.map_or(Value::Null, Into::into)
        }
    }

    impl<T: Into<Value>> FromIterator<T> for Value {
        fn from_iter<I: IntoIterator<Item = T>>(elements: I) -> Value {
            Value::Array(elements.into_iter().map(Into::into).collect())
        }
    }

    impl<K: Into<String>, V: Into<Value>> FromIterator<(K, V)> for Value {
        fn from_iter<I: IntoIterator<Item = (K, V)>>(members: I) -> Value {
            Value::Object(members.into_iter().map(|(k, v)| (k.into(), v.into())).collect())
        }
    }

    impl Serialize for Value {
        fn value(&self) -> Value {
            self.clone()
        }
    }

    impl Serialize for Number {
        fn value(&self) -> Value {
            Value::Number(*self)
        }
    }

    impl Serialize for str {
        fn value(&self) -> Value {
            Value::from(self)
        }
    }

    impl Serialize for String {
        fn value(&self) -> Value {
            Value::from(self.as_str())
        }
    }

    impl Serialize for Cow<'_, str> {
        fn value(&self) -> Value {
            Value::from(&**self)
        }
    }

    impl<T: Serialize + ?Sized> Serialize for &T {
        fn value(&self) -> Value {
            (**self).value()
        }
    }

    impl<T: Serialize + ?Sized> Serialize for &mut T {
        fn value(&self) -> Value {
            (**self).value()
        }
    }

    impl<T: Serialize + ?Sized> Serialize for Box<T> {
        fn value(&self) -> Value {
            (**self).value()
        }
    }

    impl<T: Serialize> Serialize for Option<T> {
        fn value(&self) -> Value {
            self.as_ref().map_or(Value::Null, Serialize::value)
        }
    }

    impl<T: Serialize> Serialize for [T] {
        fn value(&self) -> Value {
            Value::Array(self.iter().map(Serialize::value).collect())
        }
    }

    impl<T: Serialize> Serialize for Vec<T> {
        fn value(&self) -> Value {
            self.as_slice().value()
        }
    }

    impl<T: Serialize, const LENGTH: usize> Serialize for [T; LENGTH] {
        fn value(&self) -> Value {
            self.as_slice().value()
        }
    }

    impl<A: Serialize, B: Serialize> Serialize for (A, B) {
        fn value(&self) -> Value {
            Value::Array(vec![self.0.value(), self.1.value()])
        }
    }

    impl<A: Serialize, B: Serialize, C: Serialize> Serialize for (A, B, C) {
        fn value(&self) -> Value {
            Value::Array(vec![self.0.value(), self.1.value(), self.2.value()])
        }
    }

    impl<K: ToString, V: Serialize> Serialize for BTreeMap<K, V> {
        fn value(&self) -> Value {
            Value::Object(self.iter().map(|(k, v)| (k.to_string(), v.value())).collect())
        }
    }

    impl<K: ToString, V: Serialize, S> Serialize for HashMap<K, V, S> {
        fn value(&self) -> Value {
            Value::Object(self.iter().map(|(k, v)| (k.to_string(), v.value())).collect())
        }
    }

    /// A value as it is written: null, [..] and {..} of the same, or any expression that has a form in JSON. The name of a
    /// member is a literal or a variable; an expression stands in parentheses.
    macro_rules! json {
        (@members $map:ident) => {};
        (@members $map:ident $key:tt : null $(, $($rest:tt)*)?) => {
            $map.insert(($key).to_string(), $crate::serde_json::Value::Null);
            $crate::serde_json::json!(@members $map $($($rest)*)?);
        };
        (@members $map:ident $key:tt : [ $($elements:tt)* ] $(, $($rest:tt)*)?) => {
            $map.insert(($key).to_string(), $crate::serde_json::json!([ $($elements)* ]));
            $crate::serde_json::json!(@members $map $($($rest)*)?);
        };
        (@members $map:ident $key:tt : { $($members:tt)* } $(, $($rest:tt)*)?) => {
            $map.insert(($key).to_string(), $crate::serde_json::json!({ $($members)* }));
            $crate::serde_json::json!(@members $map $($($rest)*)?);
        };
        (@members $map:ident $key:tt : $value:expr $(, $($rest:tt)*)?) => {
            $map.insert(($key).to_string(), $crate::serde_json::Serialize::value(&$value));
            $crate::serde_json::json!(@members $map $($($rest)*)?);
        };
        (@elements $list:ident) => {};
        (@elements $list:ident null $(, $($rest:tt)*)?) => {
            $list.push($crate::serde_json::Value::Null);
            $crate::serde_json::json!(@elements $list $($($rest)*)?);
        };
        (@elements $list:ident [ $($elements:tt)* ] $(, $($rest:tt)*)?) => {
            $list.push($crate::serde_json::json!([ $($elements)* ]));
            $crate::serde_json::json!(@elements $list $($($rest)*)?);
        };
        (@elements $list:ident { $($members:tt)* } $(, $($rest:tt)*)?) => {
            $list.push($crate::serde_json::json!({ $($members)* }));
            $crate::serde_json::json!(@elements $list $($($rest)*)?);
        };
        (@elements $list:ident $value:expr $(, $($rest:tt)*)?) => {
            $list.push($crate::serde_json::Serialize::value(&$value));
            $crate::serde_json::json!(@elements $list $($($rest)*)?);
        };
        (null) => { $crate::serde_json::Value::Null };
        ([]) => { $crate::serde_json::Value::Array(Vec::new()) };
        ({}) => { $crate::serde_json::Value::Object($crate::serde_json::Map::new()) };
        ([ $($elements:tt)+ ]) => {{
            #[allow(clippy::vec_init_then_push)]
            let mut list = Vec::new();
            $crate::serde_json::json!(@elements list $($elements)+);
            $crate::serde_json::Value::Array(list)
        }};
        ({ $($members:tt)+ }) => {{
            let mut map = $crate::serde_json::Map::new();
            $crate::serde_json::json!(@members map $($members)+);
            $crate::serde_json::Value::Object(map)
        }};
        ($value:expr) => { $crate::serde_json::Serialize::value(&$value) };
    }
    pub(crate) use json;

    // ---- reading ----

    /// What is wrong with a text that should be JSON, and at which byte.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct Error {
        what: &'static str,
        at: usize,
    }

    impl fmt::Display for Error {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            write!(f, "{} at byte {}", self.what, self.at)
        }
    }

    impl std::error::Error for Error {}

    const MAX_DEPTH: usize = 128;

    struct Reader<'a> {
        text: &'a str,
        at: usize,
        depth: usize,
    }

    impl<'a> Reader<'a> {
        fn fail<T>(&self, what: &'static str) -> Result<T> {
            Err(Error { what, at: self.at })
        }

        fn peek(&self) -> Option<u8> {
            self.text.as_bytes().get(self.at).copied()
        }

        fn take(&mut self, byte: u8) -> bool {
            let found = self.peek() == Some(byte);
            self.at += found as usize;
            found
        }

        fn space(&mut self) {
            while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
                self.at += 1;
            }
        }

        fn value(&mut self) -> Result<Value> {
            self.space();
            match self.peek() {
                Some(b'{') => self.object(),
                Some(b'[') => self.array(),
                Some(b'"') => Ok(Value::String(self.string()?)),
                Some(b'-' | b'0'..=b'9') => self.number(),
                _ => self.word(),
            }
        }

        fn word(&mut self) -> Result<Value> {
            let words = [("null", Value::Null), ("true", Value::Bool(true)), ("false", Value::Bool(false))];
            for (word, value) in words {
                if self.text.as_bytes()[self.at..].starts_with(word.as_bytes()) {
                    self.at += word.len();
                    return Ok(value);
                }
            }
            self.fail("a value is expected")
        }

        fn enter(&mut self) -> Result<()> {
            self.at += 1;
            self.depth += 1;
            if self.depth > MAX_DEPTH {
                return self.fail("too many levels");
            }
            self.space();
            Ok(())
        }

        fn array(&mut self) -> Result<Value> {
            let mut elements = Vec::new();
            self.enter()?;
            if !self.take(b']') {
                loop {
                    elements.push(self.value()?);
                    self.space();
                    if self.take(b']') {
                        break;
                    }
                    if !self.take(b',') {
                        return self.fail("',' or ']' is expected");
                    }
                }
            }
            self.depth -= 1;
            Ok(Value::Array(elements))
        }

        fn object(&mut self) -> Result<Value> {
            let mut members = Map::new();
            self.enter()?;
            if !self.take(b'}') {
                loop {
                    self.space();
                    if self.peek() != Some(b'"') {
                        return self.fail("a member's name is expected");
                    }
                    let key = self.string()?;
                    self.space();
                    if !self.take(b':') {
                        return self.fail("':' is expected");
                    }
                    members.insert(key, self.value()?);
                    self.space();
                    if self.take(b'}') {
                        break;
                    }
                    if !self.take(b',') {
                        return self.fail("',' or '}' is expected");
                    }
                }
            }
            self.depth -= 1;
            Ok(Value::Object(members))
        }

        fn digits(&mut self) -> Result<()> {
            let start = self.at;
            while matches!(self.peek(), Some(b'0'..=b'9')) {
                self.at += 1;
            }
            if self.at == start {
                return self.fail("a digit is expected");
            }
            Ok(())
        }

        fn number(&mut self) -> Result<Value> {
            let start = self.at;
            let mut whole = true;
            let negative = self.take(b'-');
            if !self.take(b'0') {
                self.digits()?;
            }
            if self.take(b'.') {
                whole = false;
                self.digits()?;
            }
            if self.take(b'e') || self.take(b'E') {
                whole = false;
                if !self.take(b'+') {
                    self.take(b'-');
                }
                self.digits()?;
            }
            let text = &self.text[start..self.at];
            if whole && negative && text != "-0" {
                if let Ok(n) = text.parse::<i64>() {
                    return Ok(Value::from(n));
                }
            } else if whole && !negative {
                if let Ok(n) = text.parse::<u64>() {
                    return Ok(Value::from(n));
                }
            }
            match text.parse::<f64>().ok().and_then(Number::from_f64) {
                Some(number) => Ok(Value::Number(number)),
                None => self.fail("a number is too large"),
            }
        }

        fn string(&mut self) -> Result<String> {
            let mut text = String::new();
            self.at += 1;
            loop {
                let start = self.at;
                while !matches!(self.peek(), None | Some(b'"' | b'\\' | 0..=0x1f)) {
                    self.at += 1;
                }
                text.push_str(&self.text[start..self.at]);
                match self.peek() {
                    Some(b'"') => {
                        self.at += 1;
                        return Ok(text);
                    }
                    Some(b'\\') => {
                        self.at += 1;
                        text.push(self.escape()?);
                    }
                    Some(_) => return self.fail("a control character in a string"),
                    None => return self.fail("a string without its end"),
                }
            }
        }

        fn escape(&mut self) -> Result<char> {
            let letter = self.peek();
            self.at += 1;
            Ok(match letter {
                Some(byte @ (b'"' | b'\\' | b'/')) => byte as char,
                Some(b'b') => '\u{8}',
                Some(b'f') => '\u{c}',
                Some(b'n') => '\n',
                Some(b'r') => '\r',
                Some(b't') => '\t',
                Some(b'u') => return self.unicode(),
                _ => {
                    self.at -= 1;
                    return self.fail("an unknown escape");
                }
            })
        }

        fn hex4(&mut self) -> Result<u32> {
            let digits = self.text.as_bytes().get(self.at..self.at + 4);
            match digits {
                Some(digits) if digits.iter().all(u8::is_ascii_hexdigit) => {
                    self.at += 4;
                    let value = |n, d: &u8| n * 16 + (*d as char).to_digit(16).unwrap_or(0);
                    Ok(digits.iter().fold(0, value))
                }
                _ => self.fail("four hexadecimal digits are expected"),
            }
        }

        fn unicode(&mut self) -> Result<char> {
            let mut code = self.hex4()?;
            if (0xd800..0xdc00).contains(&code) && self.take(b'\\') && self.take(b'u') {
                let low = self.hex4()?;
                if (0xdc00..0xe000).contains(&low) {
                    code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
                }
            }
            match char::from_u32(code) {
                Some(character) => Ok(character),
                None => self.fail("a lone surrogate"),
            }
        }
    }

    pub fn from_str(text: &str) -> Result<Value> {
        let mut reader = Reader { text, at: 0, depth: 0 };
        let value = reader.value()?;
        reader.space();
        if reader.at < text.len() {
            return reader.fail("more behind the value");
        }
        Ok(value)
    }

    pub fn from_slice(bytes: &[u8]) -> Result<Value> {
        match std::str::from_utf8(bytes) {
            Ok(text) => from_str(text),
            Err(error) => Err(Error { what: "no UTF-8", at: error.valid_up_to() }),
        }
    }

    impl std::str::FromStr for Value {
        type Err = Error;

        fn from_str(text: &str) -> Result<Value> {
            from_str(text)
        }
    }

    // ---- writing ----

    fn write_string(out: &mut String, text: &str) {
        out.push('"');
        for character in text.chars() {
            match character {
                '"' => out.push_str("\\\""),
                '\\' => out.push_str("\\\\"),
                '\u{8}' => out.push_str("\\b"),
                '\u{c}' => out.push_str("\\f"),
                '\n' => out.push_str("\\n"),
                '\r' => out.push_str("\\r"),
                '\t' => out.push_str("\\t"),
                c if c < ' ' => out.push_str(&format!("\\u{:04x}", c as u32)),
                c => out.push(c),
            }
        }
        out.push('"');
    }

    /// `indent` is the depth, or None for one line.
    fn newline(out: &mut String, indent: Option<usize>) {
        if let Some(depth) = indent {
            out.push('\n');
            out.push_str(&"  ".repeat(depth));
        }
    }

    fn write_value(out: &mut String, value: &Value, indent: Option<usize>) {
        let inner = indent.map(|depth| depth + 1);
        match value {
            Value::Null => out.push_str("null"),
            Value::Bool(truth) => out.push_str(if *truth { "true" } else { "false" }),
            Value::Number(number) => out.push_str(&number.to_string()),
            Value::String(text) => write_string(out, text),
            Value::Array(elements) if elements.is_empty() => out.push_str("[]"),
            Value::Array(elements) => {
                out.push('[');
                for (i, element) in elements.iter().enumerate() {
                    if i > 0 {
                        out.push(',');
                    }
                    newline(out, inner);
                    write_value(out, element, inner);
                }
                newline(out, indent);
                out.push(']');
            }
            Value::Object(members) if members.is_empty() => out.push_str("{}"),
            Value::Object(members) => {
                out.push('{');
                for (i, (key, member)) in members.iter().enumerate() {
                    if i > 0 {
                        out.push(',');
                    }
                    newline(out, inner);
                    write_string(out, key);
                    out.push_str(if indent.is_some() { ": " } else { ":" });
                    write_value(out, member, inner);
                }
                newline(out, indent);
                out.push('}');
            }
        }
    }

    impl fmt::Display for Value {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            let mut out = String::new();
            write_value(&mut out, self, if f.alternate() { Some(0) } else { None });
            f.write_str(&out)
        }
    }

    pub fn to_value<T: Serialize>(value: T) -> Result<Value> {
        Ok(value.value())
    }

    pub fn to_string<T: Serialize + ?Sized>(value: &T) -> Result<String> {
        Ok(value.value().to_string())
    }

    pub fn to_string_pretty<T: Serialize + ?Sized>(value: &T) -> Result<String> {
        Ok(format!("{:#}", value.value()))
    }
}

/// What the user's file finds in scope; names of its own come first.
mod prelude {
    #[allow(unused_imports)]
    pub(crate) use crate::serde_json::{self, json, Value};
}

mod user {
    #[allow(unused_imports)]
    use crate::prelude::*;

    include!("main.rs");

    pub(crate) fn warder_entry(input: crate::serde_json::Value) -> crate::serde_json::Value {
        run(input)
    }
}

/// The file at a path; /dev/fd/N is the descriptor that is open already, whatever it is.
fn open(path: &str, options: &std::fs::OpenOptions) -> std::io::Result<std::fs::File> {
    use std::os::unix::io::FromRawFd;

    match path.strip_prefix("/dev/fd/").and_then(|number| number.parse::<i32>().ok()) {
        // The caller of the program opened it for this one use.
        Some(descriptor) => Ok(unsafe { std::fs::File::from_raw_fd(descriptor) }),
        None => options.open(path),
    }
}

fn named(variable: &str) -> Option<String> {
    std::env::var(variable).ok().filter(|path| !path.is_empty())
}

fn read_input() -> Result<serde_json::Value, String> {
    use std::io::Read;

    let path = match named("WARDER_INPUT") {
        Some(path) => path,
        None => return Ok(serde_json::Value::Null),
    };
    let mut bytes = Vec::new();
    open(&path, std::fs::OpenOptions::new().read(true))
        .and_then(|mut file| file.read_to_end(&mut bytes))
        .map_err(|error| format!("cannot read the input {}: {}", path, error))?;
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return Ok(serde_json::Value::Null);
    }
    serde_json::from_slice(&bytes).map_err(|error| format!("the input is no JSON: {}", error))
}

fn write_result(value: &serde_json::Value) -> Result<(), String> {
    use std::io::Write;

    let mut text = value.to_string();
    let (name, done) = match named("WARDER_RESULT") {
        Some(path) => {
            let file = open(&path, std::fs::OpenOptions::new().write(true).create(true).truncate(true));
            let done = file.and_then(|mut file| file.write_all(text.as_bytes()));
            (path, done)
        }
        None => {
            text.push('\n');
            ("standard output".to_string(), std::io::stdout().write_all(text.as_bytes()))
        }
    };
    done.map_err(|error| format!("cannot write the result to {}: {}", name, error))
}

fn main() {
    let done = read_input().map(user::warder_entry).and_then(|value| write_result(&value));
    if let Err(what) = done {
        eprintln!("warder: {}", what);
        std::process::exit(2);
    }
}
