# The library, as a program outside of this tree finds it: one header, one archive or shared object.

= the example, linked statically
needs library limits python3
$ cc -Wall -Wextra -Werror -I"$TOP/runtime" "$TOP/docs/example.c" "$BUILD/libwarder.a" -o example && ./example 'print(6 * 7)'
| 42
|~ ^success \(exit\), [0-9.]+ ms$

= the example, linked with the shared object
needs library limits python3
$ cc -Wall -Wextra -Werror -I"$TOP/runtime" "$TOP/docs/example.c" "$BUILD"/libwarder.so.? -Wl,-rpath,"$BUILD" -o example && ./example 'while True: pass'
|~ ^timeout \((wallTime|cpuTime)\), [0-9.]+ ms$

= the header is C++ too
needs library c++
$ printf '#include <warder.h>\nint main() { warder_error err; warder_policy *p = nullptr; return warder_policy_preset("strict", &p, &err); }\n' > x.cc
> c++ -Wall -Wextra -pedantic -Werror -I"$TOP/runtime" x.cc "$BUILD/libwarder.a" -o x && ./x

= only what the header declares is exported
needs library nm
$ nm -D --defined-only "$BUILD"/libwarder.so.? | grep -v ' warder_' | grep -vc ' A WARDER_0$'; nm -g --defined-only "$BUILD/libwarder.a" | grep -c '[TDBRW] ' > count; nm -g --defined-only "$BUILD/libwarder.a" | grep -c ' T warder_' | diff - count
| 0
