#include "viewer/replay/fixed_places.h"

#include <algorithm>
#include <set>

namespace countrace::viewer {

void FixedPlaces::Update(std::span<const std::uint32_t> ranked,
                         std::size_t places) {
  places_.resize(places);
  const auto wanted = ranked.first(std::min(places, ranked.size()));
  std::set<std::uint32_t> kept, without(wanted.begin(), wanted.end());
  for (const auto& place : places_) {
    if (place && without.erase(*place) != 0) kept.insert(*place);
  }
  auto free = places_.begin();
  const auto next_free = [&](bool empty) {
    free = std::find_if(free, places_.end(), [&](const auto& place) {
      return empty ? !place : !kept.contains(*place);
    });
    return free != places_.end();
  };
  // In the order of rank: the empty places first.
  bool empty = true;
  for (const std::uint32_t thing : wanted) {
    if (!without.contains(thing)) continue;
    if (empty && !next_free(true)) {
      empty = false;
      free = places_.begin();
    }
    if (!empty && !next_free(false)) return;
    *free++ = thing;
    kept.insert(thing);
  }
}

}  // namespace countrace::viewer
