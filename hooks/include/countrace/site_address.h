/* How an asm statement takes the constant address of a hook site (print it with
 * %c). In position-independent code for arm64 g++ refuses "i": no address is an
 * immediate there. Its "S" is an address the linker knows; clang's is not.
 */
#ifndef COUNTRACE_SITE_ADDRESS_H_
#define COUNTRACE_SITE_ADDRESS_H_

#if defined(__aarch64__) && !defined(__clang__)
#define COUNTRACE_DETAIL_SITE_ADDRESS "S"
#else
#define COUNTRACE_DETAIL_SITE_ADDRESS "i"
#endif

#endif /* COUNTRACE_SITE_ADDRESS_H_ */
