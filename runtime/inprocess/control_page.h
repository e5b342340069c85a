// The process's end of its control page (runtime/control_layout.h): made,
// waited on, answered. Control thread only, unless it says otherwise.
#ifndef COUNTRACE_RUNTIME_INPROCESS_CONTROL_PAGE_H_
#define COUNTRACE_RUNTIME_INPROCESS_CONTROL_PAGE_H_

#include "runtime/control_layout.h"

namespace countrace::runtime {

// Makes and maps the page. Null: no folder takes it, the user switched it off
// (COUNTRACE_CONTROL=off), or the program is set-user-id; the process can then
// only be recorded from its start.
ControlPage* CreateControlPage(std::int32_t pid) noexcept;

// The user wants forked children to have a control thread, too
// (COUNTRACE_CONTROL=forks): a program whose children may exec, or enter other
// namespaces, must not have it by default.
bool ForksAreControlled() noexcept;

// Takes the file of this process away, if it has one. Any thread, at exit.
void RemoveControlPage() noexcept;

// Answers the request that waits, if one does. True if there was one.
bool AnswerControlRequest(ControlPage& page) noexcept;

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_INPROCESS_CONTROL_PAGE_H_
