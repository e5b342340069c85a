/* countrace hooks: the one header an instrumented program includes.
 *
 *   COUNTRACE_SEGMENT("server", "handle");         C++: enter here, exit at the
 *                                                  end of the scope
 *   COUNTRACE_SEGMENT("server", "handle", id);     with payload values, up to 6
 *   COUNTRACE_HOOK("server", "bytes", n, name);    a point hook
 *
 *   COUNTRACE_ENTER("server", "phase", n);         C, or a segment that is not
 *   COUNTRACE_EXIT("server", "phase");             a scope; in the same thread
 *
 *   COUNTRACE_LEVEL("shop", "cold_cache", on);     a state of the thread that
 *   COUNTRACE_PROCESS_LEVEL("shop", "full", n);    is up or down: its time and
 *   COUNTRACE_MACHINE_LEVEL("shop", "sale", on);   its counts while it is up
 *
 *   COUNTRACE_SEGMENT_ID(42, "server", "handle");  with an explicit hook id,
 *   COUNTRACE_HOOK_ID(43, "server", "bytes", n);   1..4095
 *
 * Provider and name are string literals of [A-Za-z0-9_.-]. Payload values are
 * integers, enums, floating point, strings (const char*, std::string,
 * std::string_view) and pointers; they are evaluated only while a recording
 * runs. A level is down until its first record; the last value wins, and the
 * end of a thread lowers its levels. Levels overlap, each other and segments,
 * and need no order. There is nothing to link: `countrace record` loads the
 * runtime library. While no recording runs, a hook is one load and one branch
 * that is not taken.
 *
 * Hooks may be used in signal handlers, in constructors before main, in
 * thread-local destructors, in shared libraries that are loaded and unloaded,
 * and after fork. Between vfork and exec they are recorded as the parent's
 * thread.
 *
 * Define COUNTRACE_DISABLE to compile every hook to nothing.
 */
#ifndef COUNTRACE_HOOKS_H_
#define COUNTRACE_HOOKS_H_

#if defined(COUNTRACE_DISABLE)

#define COUNTRACE_SEGMENT(...) ((void)0)
#define COUNTRACE_SEGMENT_ID(...) ((void)0)
#define COUNTRACE_HOOK(...) ((void)0)
#define COUNTRACE_HOOK_ID(...) ((void)0)
#define COUNTRACE_ENTER(...) ((void)0)
#define COUNTRACE_EXIT(...) ((void)0)
#define COUNTRACE_LEVEL(...) ((void)0)
#define COUNTRACE_PROCESS_LEVEL(...) ((void)0)
#define COUNTRACE_MACHINE_LEVEL(...) ((void)0)

#elif __SIZEOF_POINTER__ != 8
#error "countrace/hooks.h needs a 64-bit target; or define COUNTRACE_DISABLE"
#elif defined(__cplusplus)
#include "countrace/hooks_cxx.h"
#else
#include "countrace/hooks_c.h"
#endif

#endif /* COUNTRACE_HOOKS_H_ */
