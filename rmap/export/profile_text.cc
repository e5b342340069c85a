// A profile in the formats that are text.
#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/str_format.h"
#include "base/text/name_escape.h"
#include "rmap/export/profile.h"

namespace countrace::rmap {
namespace {

// A name without what ends a frame or a line.
std::string FrameText(const std::string& name) {
  std::string text = base::EscapeName(name);
  std::replace(text.begin(), text.end(), ';', ':');
  return text.empty() ? "?" : text;
}

struct Edge {
  std::int64_t amount = 0, times = 0;
};
struct Function {
  std::int64_t self = 0;
  std::map<std::string, Edge> calls;
};

}  // namespace

std::string FoldedText(const Profile& profile) {
  std::string text;
  for (const ProfileStack& stack : profile.stacks) {
    if (stack.amount == 0) continue;
    for (const std::string& frame : stack.frames) {
      text += FrameText(frame) + ";";
    }
    text.back() = ' ';
    text += std::to_string(stack.amount) + "\n";
  }
  return text;
}

std::string CallgrindText(const Profile& profile) {
  std::map<std::string, Function> functions;
  std::int64_t total = 0;
  for (const ProfileStack& stack : profile.stacks) {
    functions[FrameText(stack.frames.back())].self += stack.amount;
    total += stack.amount;
    // A call that a stack has twice, by recursion, counts once.
    std::set<std::pair<std::string, std::string>> seen;
    for (std::size_t i = 1; i < stack.frames.size(); ++i) {
      const std::string caller = FrameText(stack.frames[i - 1]);
      const std::string called = FrameText(stack.frames[i]);
      Edge& edge = functions[caller].calls[called];
      const bool innermost = i + 1 == stack.frames.size();
      if (innermost) edge.times += stack.times;
      if (seen.insert({caller, called}).second) edge.amount += stack.amount;
    }
  }
  std::string text = absl::StrFormat(
      "# callgrind format\nversion: 1\ncreator: countrace\npositions: line\n"
      "events: %s\nsummary: %d\n\nfl=(1) trace\n",
      profile.weight, total);
  for (const auto& [name, function] : functions) {
    text += absl::StrFormat("fn=%s\n0 %d\n", name, function.self);
    for (const auto& [called, edge] : function.calls) {
      text += absl::StrFormat("cfn=%s\ncalls=%d 0\n0 %d\n", called, edge.times,
                              edge.amount);
    }
    text += '\n';
  }
  return text;
}

}  // namespace countrace::rmap
