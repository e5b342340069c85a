/* The mark of own_call.h, for C and C++. A register holds it, and the
 * instruction behind the call has its lower bits: nopl, or movz to xzr. */
#ifndef COUNTRACE_BASE_POSIX_OWN_CALL_MARK_H_
#define COUNTRACE_BASE_POSIX_OWN_CALL_MARK_H_

#define COUNTRACE_OWN_CALL_MARK 0x6374722d6f776e21
#define COUNTRACE_OWN_CALL_NOP 0x6f776e21
#define COUNTRACE_OWN_CALL_MOVZ 0x6e21 /* 16 bits */

#endif /* COUNTRACE_BASE_POSIX_OWN_CALL_MARK_H_ */
