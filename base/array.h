/*
 * array: the length of an array whose size the compiler knows.
 *
 * Anyone may use it. It is wrong for a pointer: the compiler's -Wsizeof-pointer-div reports one.
 */
#ifndef WARDER_BASE_ARRAY_H
#define WARDER_BASE_ARRAY_H

#define ARRAY_LENGTH(array) (sizeof(array) / sizeof((array)[0]))

#endif
