// Before the process can perhaps not reach its trace any more: another user,
// another root, other mounts. interposed_access.cc and interposed.cc see the
// call. Each stream of the process then gets a tail (stream_tail.h), and so do
// spare ones for threads and forked children that start later. No descriptor,
// directory or privilege is kept: an attacker who takes over the program later
// finds nothing in it that it gave up.
//
// Async-signal-safe. Thread: any.
#ifndef COUNTRACE_RUNTIME_INPROCESS_INTERPOSE_LESS_ACCESS_H_
#define COUNTRACE_RUNTIME_INPROCESS_INTERPOSE_LESS_ACCESS_H_

namespace countrace::runtime {

// Opens the calling thread's stream, too. Keeps errno.
void KeepStreamsGrowing() noexcept;

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_INPROCESS_INTERPOSE_LESS_ACCESS_H_
