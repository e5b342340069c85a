#include "cli/verb.h"

namespace countrace::cli {
namespace {

constexpr Verb kVerbs[] = {
    {"record", "run a command, or watch the whole machine, into a trace",
     RunRecord},
    {"snapshot", "make a trace of what a recording holds now, while it goes on",
     RunSnapshot},
    {"report", "who used what: processes, segments, books that balance",
     RunReport},
    {"diff", "what changed between two traces or sets of traces, how surely",
     RunDiff},
    {"state", "the machine at one instant: who runs where, inside what",
     RunState},
    {"view", "show the timeline in a browser", RunView},
    {"script", "print every record, in time order, one per line", RunScript},
    {"info", "what a trace holds", RunInfo},
    {"verify", "check that a trace is sound", RunVerify},
    {"recover", "make the trace of a killed recording sound", RunRecover},
    {"import", "make a trace of what others recorded (LTTng, CTF 1.8, perf)",
     RunImport},
    {"list", "events and hooks that can be recorded here", RunList},
    {"hooks", "list the hooks of a running process, switch them on and off",
     RunHooks},
    {"doctor", "what works on this machine, and what would fix the rest",
     RunDoctor},
    {"help", "explain a verb", RunHelp},
    {"version", "print the version", RunVersion},
};

}  // namespace

std::span<const Verb> AllVerbs() { return kVerbs; }

const Verb* FindVerb(std::string_view name) {
  for (const Verb& verb : kVerbs) {
    if (verb.name == name) return &verb;
  }
  return nullptr;
}

}  // namespace countrace::cli
