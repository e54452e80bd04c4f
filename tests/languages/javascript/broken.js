console.log("never printed");
function f( {
