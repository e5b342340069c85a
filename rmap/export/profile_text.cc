// A profile in the formats that are text.
#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "base/text/name_escape.h"
#include "rmap/export/profile.h"

namespace countrace::rmap {
namespace {

// A name without what ends a frame or a line.
std::string FrameText(const std::string& name) {
  std::string text = base::EscapeName(name);
  std::replace(text.begin(), text.end(), ';', ':');
  return text;
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
  std::map<std::string, std::int64_t> amounts;
  for (const ProfileStack& stack : profile.stacks) {
    if (stack.amount == 0) continue;
    std::string line;
    for (const std::string& name : FrameNames(profile, stack)) {
      line += FrameText(name) + ";";
    }
    line.back() = ' ';
    amounts[line] += stack.amount;
  }
  std::string text;
  for (const auto& [line, amount] : amounts) {
    text += line + std::to_string(amount) + "\n";
  }
  return text;
}

std::string CallgrindText(const Profile& profile) {
  std::map<std::string, Function> functions;
  std::int64_t total = 0;
  for (const ProfileStack& stack : profile.stacks) {
    const std::vector<std::string> frames = FrameNames(profile, stack);
    functions[FrameText(frames.back())].self += stack.amount;
    total += stack.amount;
    // A call that a stack has twice, by recursion, counts once.
    std::set<std::pair<std::string, std::string>> seen;
    for (std::size_t i = 1; i < frames.size(); ++i) {
      const std::string caller = FrameText(frames[i - 1]);
      const std::string called = FrameText(frames[i]);
      Edge& edge = functions[caller].calls[called];
      const bool innermost = i + 1 == frames.size();
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
