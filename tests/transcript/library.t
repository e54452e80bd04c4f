# The library, as a program outside of this tree finds it: one header, one archive or shared object.

= the example, linked statically
needs library limits python3
$ cc -Wall -Wextra -Werror -I"$TOP/runtime" "$TOP/docs/example.c" "$BUILD/libwarder.a" -lcjson -o example && ./example 'print(6 * 7)'
| 42
|~ ^success \(exit\), [0-9.]+ ms, [1-9][0-9] controls enforced$

= the example, linked with the shared object
needs library limits python3
$ cc -Wall -Wextra -Werror -I"$TOP/runtime" "$TOP/docs/example.c" "$BUILD"/libwarder.so.? -lcjson -Wl,-rpath,"$BUILD" -o example && ./example 'while True: pass'
|~ ^timeout \((wallTime|cpuTime)\), [0-9.]+ ms, [1-9][0-9] controls enforced$

= the header is C++ too
needs library c++
$ printf '#include <warder.h>\nint main() { warder_error err; warder_policy *p = nullptr; return warder_policy_preset("strict", &p, &err); }\n' > x.cc
> c++ -Wall -Wextra -pedantic -Werror -I"$TOP/runtime" x.cc "$BUILD/libwarder.a" -o x && ./x

= only what the header declares is exported
needs library nm
$ nm -D --defined-only "$BUILD"/libwarder.so.? | grep -v ' warder_' | grep -vc ' A WARDER_0$'; nm -g --defined-only "$BUILD/libwarder.a" | grep -c '[TDBRW] ' > count; nm -g --defined-only "$BUILD/libwarder.a" | grep -c ' T warder_' | diff - count
| 0

= checkpoints and events through libwarder-store
needs library
+ cat > keep.c <<'END'
+ #include <stdio.h>
+ #include <stdlib.h>
+ #include <warder-store.h>
+ int main(int argc, char **argv)
+ {
+ 	struct warder_event said = { "t1", "topic", "me", NULL, "[1]", WARDER_EVENT_COMPLETED, 0, 0 }, *heard;
+ 	struct warder_checkpoints *checkpoints;
+ 	struct warder_subscription *subscription;
+ 	struct warder_events *events;
+ 	struct warder_error err;
+ 	unsigned long receivers = 9 + (argc == 0);
+ 	char *state;
+ 
+ 	if (warder_checkpoints_open(argv[1], &checkpoints, &err) != 0 ||
+ 	    warder_thread_save(checkpoints, "talk", "{ }", 3, NULL, &err) != 0 ||
+ 	    warder_thread_load(checkpoints, "talk", &state, NULL, &err) != 0 ||
+ 	    warder_events_open(argv[1], "job", NULL, &events, &err) != 0 ||
+ 	    warder_events_subscribe(events, WARDER_EVENTS_LATER, &subscription, &err) != 0 ||
+ 	    warder_events_publish(events, &said, NULL, &receivers, &err) != 0 ||
+ 	    warder_subscription_next(subscription, NULL, -1, &heard, &err) != 0) {
+ 		puts(err.text);
+ 		return 1;
+ 	}
+ 	printf("%s %lu %s %s\n", state, receivers, warder_event_kind_name(heard->kind), heard->payload);
+ 	free(state);
+ 	warder_event_free(heard);
+ 	warder_subscription_free(subscription);
+ 	warder_events_free(events);
+ 	warder_checkpoints_free(checkpoints);
+ 	return 0;
+ }
+ END
$ cc -Wall -Wextra -Werror -I"$TOP/runtime" -I"$TOP/store" keep.c "$BUILD"/libwarder-store.so.? "$BUILD"/libwarder.so.? -Wl,-rpath,"$BUILD" -o keep && LD_LIBRARY_PATH=$BUILD ./keep "$WARDER_STORE"; warder checkpoint latest talk --state; echo; warder events history job --json | grep -c completed; cc -I"$TOP/runtime" -I"$TOP/store" keep.c "$BUILD/libwarder-store.a" "$BUILD/libwarder.a" $(sed -n 's/^Libs.private: //p' "$TOP/store/warder-store.pc.in") -o static && ./static "$WARDER_STORE"; ldd static | grep -c warder; nm -g --defined-only "$BUILD/libwarder-store.a" | grep ' [TDBR] ' | grep -vc ' warder_'; nm -g --defined-only "$BUILD/libwarder-store.a" | grep -c ' T warder_image_build$\| T warder_launch$'
| { } 1 completed [1]
| { }
| 1
| { } 1 completed [1]
| 0
| 0
| 2
