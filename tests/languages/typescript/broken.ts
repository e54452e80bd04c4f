console.log("never printed");
const n: number = "text";
