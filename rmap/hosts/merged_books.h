// Sums of books and of losses over hosts.
#ifndef COUNTRACE_RMAP_HOSTS_MERGED_BOOKS_H_
#define COUNTRACE_RMAP_HOSTS_MERGED_BOOKS_H_

#include <cstddef>
#include <string>
#include <vector>

#include "rmap/result/tables.h"

namespace countrace::rmap {

// For an event of a host that is left out.
inline constexpr auto kNoEvent = ~std::size_t{0};

// `places`: of the host's events among those of `all`.
void AddBooks(const Report& host, const std::vector<std::size_t>& places,
              Report& all);
// Messages begin with the host's name.
void AddLoss(const std::string& name, const Loss& host, Loss& all);

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_HOSTS_MERGED_BOOKS_H_
