/* The constraint that passes the constant address of a hook site to an asm
 * statement (print it with %c). In position-independent code for arm64, g++
 * refuses "i": no address is an immediate there. g++'s "S" takes an address
 * known at link time; clang's "S" does not.
 */
#ifndef COUNTRACE_SITE_ADDRESS_H_
#define COUNTRACE_SITE_ADDRESS_H_

#if defined(__aarch64__) && !defined(__clang__)
#define COUNTRACE_DETAIL_SITE_ADDRESS "S"
#else
#define COUNTRACE_DETAIL_SITE_ADDRESS "i"
#endif

#endif /* COUNTRACE_SITE_ADDRESS_H_ */
