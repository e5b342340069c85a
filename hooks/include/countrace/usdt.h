/* USDT: a 5-byte nop with a SystemTap SDT v3 note (section .note.stapsdt, name
 * "stapsdt", type 3) at each hook, so that perf, bpftrace and the kernel
 * recorder attach to the same places without a rebuild.
 *
 * The nop has five bytes because the kernel then emulates it instead of single
 * stepping it. It lies on the hook's enabled path. The note's semaphore is part
 * of the hook's gate word: attaching a probe switches the path on, and the
 * payload is evaluated only then. Our own macros: <sys/sdt.h> is not needed.
 */
#ifndef COUNTRACE_USDT_H_
#define COUNTRACE_USDT_H_

#include "countrace/hook_site.h"
#include "countrace/site_address.h"

#if defined(__x86_64__)
#define COUNTRACE_DETAIL_NOP ".byte 0x0f, 0x1f, 0x44, 0x00, 0x00"
#else
#define COUNTRACE_DETAIL_NOP "nop"
#endif

/* `arguments` is the note's argument string, for example "-8@%1 -8@%2". %c0 is
 * the address of the gate that contains the semaphore. "?" keeps the note in
 * the section group of the function around it.
 */
#define COUNTRACE_DETAIL_USDT_TEXT(provider, probe, arguments)              \
  "990: " COUNTRACE_DETAIL_NOP                                              \
  "\n"                                                                      \
  "\t.pushsection .note.stapsdt,\"?\",\"note\"\n"                           \
  "\t.balign 4\n"                                                           \
  "\t.4byte 992f-991f, 994f-993f, 3\n"                                      \
  "991:\t.asciz \"stapsdt\"\n"                                              \
  "992:\t.balign 4\n"                                                       \
  "993:\t.8byte 990b\n"                                                     \
  "\t.8byte _.stapsdt.base\n"                                               \
  "\t.8byte %c0+" COUNTRACE_DETAIL_SEMAPHORE_OFFSET                         \
  "\n"                                                                      \
  "\t.asciz \"" provider                                                    \
  "\"\n"                                                                    \
  "\t.asciz \"" probe                                                       \
  "\"\n"                                                                    \
  "\t.asciz \"" arguments                                                   \
  "\"\n"                                                                    \
  "994:\t.balign 4\n"                                                       \
  "\t.popsection\n"                                                         \
  "\t.ifndef _.stapsdt.base\n"                                              \
  "\t.pushsection .stapsdt.base,\"aG\",\"progbits\",.stapsdt.base,comdat\n" \
  "\t.weak _.stapsdt.base\n"                                                \
  "\t.hidden _.stapsdt.base\n"                                              \
  "_.stapsdt.base: .space 1\n"                                              \
  "\t.size _.stapsdt.base, 1\n"                                             \
  "\t.popsection\n"                                                         \
  "\t.endif"

#define COUNTRACE_DETAIL_USDT(provider, probe, gate)               \
  __asm__ volatile(COUNTRACE_DETAIL_USDT_TEXT(provider, probe, "") \
                   :                                               \
                   : COUNTRACE_DETAIL_SITE_ADDRESS(gate))

/* With payload: `v` is an array of struct countrace_value. Values are passed as
 * 64-bit words, a string as its address.
 */
#define COUNTRACE_DETAIL_USDT_1(provider, probe, gate, v)               \
  __asm__ volatile(COUNTRACE_DETAIL_USDT_TEXT(provider, probe, "-8@%1") \
                   :                                                    \
                   : COUNTRACE_DETAIL_SITE_ADDRESS(gate), "nor"((v)[0].as.i))
#define COUNTRACE_DETAIL_USDT_2(provider, probe, gate, v)                     \
  __asm__ volatile(COUNTRACE_DETAIL_USDT_TEXT(provider, probe, "-8@%1 -8@%2") \
                   :                                                          \
                   : COUNTRACE_DETAIL_SITE_ADDRESS(gate), "nor"((v)[0].as.i), \
                     "nor"((v)[1].as.i))
#define COUNTRACE_DETAIL_USDT_3(provider, probe, gate, v)              \
  __asm__ volatile(                                                    \
      COUNTRACE_DETAIL_USDT_TEXT(provider, probe, "-8@%1 -8@%2 -8@%3") \
      :                                                                \
      : COUNTRACE_DETAIL_SITE_ADDRESS(gate), "nor"((v)[0].as.i),       \
        "nor"((v)[1].as.i), "nor"((v)[2].as.i))
#define COUNTRACE_DETAIL_USDT_4(provider, probe, gate, v)                    \
  __asm__ volatile(                                                          \
      COUNTRACE_DETAIL_USDT_TEXT(provider, probe, "-8@%1 -8@%2 -8@%3 -8@%4") \
      :                                                                      \
      : COUNTRACE_DETAIL_SITE_ADDRESS(gate), "nor"((v)[0].as.i),             \
        "nor"((v)[1].as.i), "nor"((v)[2].as.i), "nor"((v)[3].as.i))
#define COUNTRACE_DETAIL_USDT_5(provider, probe, gate, v)                      \
  __asm__ volatile(COUNTRACE_DETAIL_USDT_TEXT(provider, probe,                 \
                                              "-8@%1 -8@%2 -8@%3 -8@%4 -8@%5") \
                   :                                                           \
                   : COUNTRACE_DETAIL_SITE_ADDRESS(gate), "nor"((v)[0].as.i),  \
                     "nor"((v)[1].as.i), "nor"((v)[2].as.i),                   \
                     "nor"((v)[3].as.i), "nor"((v)[4].as.i))
#define COUNTRACE_DETAIL_USDT_6(provider, probe, gate, v)                      \
  __asm__ volatile(COUNTRACE_DETAIL_USDT_TEXT(                                 \
                       provider, probe, "-8@%1 -8@%2 -8@%3 -8@%4 -8@%5 -8@%6") \
                   :                                                           \
                   : COUNTRACE_DETAIL_SITE_ADDRESS(gate), "nor"((v)[0].as.i),  \
                     "nor"((v)[1].as.i), "nor"((v)[2].as.i),                   \
                     "nor"((v)[3].as.i), "nor"((v)[4].as.i),                   \
                     "nor"((v)[5].as.i))

#endif /* COUNTRACE_USDT_H_ */
