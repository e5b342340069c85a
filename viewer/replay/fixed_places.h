// Which of many things have a place on the screen: one that has a place keeps
// it, so that nothing jumps while the trace plays.
// Thread: one.
#ifndef COUNTRACE_VIEWER_REPLAY_FIXED_PLACES_H_
#define COUNTRACE_VIEWER_REPLAY_FIXED_PLACES_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace countrace::viewer {

class FixedPlaces {
 public:
  // `ranked`: those that want a place, the one that needs it most first. The
  // first as many as there are places have one: they keep theirs, others get
  // those of the ones that are no longer among them. A place whose thing is
  // gone stays as it is until another needs it.
  void Update(std::span<const std::uint32_t> ranked, std::size_t places);
  void Clear() { places_.clear(); }

  // One for each place; absent: it is empty.
  std::span<const std::optional<std::uint32_t>> places() const {
    return places_;
  }

 private:
  std::vector<std::optional<std::uint32_t>> places_;
};

}  // namespace countrace::viewer

#endif  // COUNTRACE_VIEWER_REPLAY_FIXED_PLACES_H_
