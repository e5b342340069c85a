// The process's side of its control page (runtime/control_layout.h): creates
// it, waits on it, answers requests. Control thread only, unless stated
// otherwise.
#ifndef COUNTRACE_RUNTIME_INPROCESS_SESSION_CONTROL_PAGE_H_
#define COUNTRACE_RUNTIME_INPROCESS_SESSION_CONTROL_PAGE_H_

#include "runtime/control_layout.h"

namespace countrace::runtime {

// Creates and maps the page. Null: no directory is writable, the user switched
// it off (COUNTRACE_CONTROL=off), or the program is set-user-id. The process
// can then only be recorded from its start.
ControlPage* CreateControlPage(std::int32_t pid) noexcept;

// Whether forked children have a control thread, too (COUNTRACE_CONTROL=forks).
// Off by default: a program's children may exec or enter other namespaces.
bool ForksAreControlled() noexcept;

// Removes the control file of this process, if it has one. Any thread, at exit.
void RemoveControlPage() noexcept;

// Answers the pending request. False: none is pending.
bool AnswerControlRequest(ControlPage& page) noexcept;

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_INPROCESS_SESSION_CONTROL_PAGE_H_
