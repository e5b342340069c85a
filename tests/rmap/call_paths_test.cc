// The tree of call paths: a child is found again, however many there are.
#include "rmap/state/call_paths.h"

#include <catch2/catch.hpp>
#include <map>
#include <vector>

#include "rmap/pipeline.h"
#include "tests/rmap/memory_trace.h"

namespace countrace::rmap {
namespace {

TEST_CASE("call paths: each child is found again, among few and many",
          "[rmap][paths]") {
  CallPaths paths(0);
  PathNode* const roots[] = {paths.NewRoot(), paths.NewRoot()};
  std::map<std::uint32_t, PathNode*> children[2];
  for (std::uint32_t hook = 100; hook < 160; ++hook) {
    for (const int i : {0, 1}) {
      CAPTURE(hook, i);
      CHECK(paths.FindChild(roots[i], hook) == nullptr);
      PathNode* const child = paths.Child(roots[i], hook);
      children[i][hook] = child;
      CHECK(child->parent == roots[i]);
      CHECK(child->hook_id == hook);
      for (const auto& [id, node] : children[i]) {
        CHECK(paths.FindChild(roots[i], id) == node);
        CHECK(paths.Child(roots[i], id) == node);
      }
      CHECK(roots[i]->children.size() == children[i].size());
    }
  }
  CHECK(paths.size() == 122);
}

TEST_CASE("call paths: a segment with many callees has a row for each",
          "[rmap][paths]") {
  test_support::MemoryTrace trace;
  constexpr std::uint32_t kHooks = 40;
  for (std::uint32_t i = 0; i <= kHooks; ++i) {
    trace.AddHook(10 + i, logformat::HookKind::kSegment, "p",
                  "h" + std::to_string(i));
  }
  std::uint64_t now_ns = 1000;
  const auto hook = [&](std::uint32_t i, bool exit) {
    trace.HookRecord(++now_ns, {5, 5, 10 + i, exit});
  };
  hook(0, false);
  for (int round = 0; round < 3; ++round) {
    for (std::uint32_t i = 1; i <= kHooks; ++i) {
      hook(i, false);
      now_ns += i;
      hook(i, true);
    }
  }
  hook(0, true);
  const auto report = Reconstruct(trace, {});
  REQUIRE(report.ok());
  REQUIRE(report->segment_paths.size() == kHooks + 1);
  for (const SegmentRow& row : report->segment_paths) {
    if (row.path.size() == 1) continue;
    const std::uint64_t i = std::stoull(row.segment.substr(3));
    CAPTURE(i);
    CHECK(row.calls == 3);
    CHECK(row.wall.incl == 3 * (i + 1));
  }
}

}  // namespace
}  // namespace countrace::rmap
