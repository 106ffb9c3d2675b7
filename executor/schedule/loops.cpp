#include <algorithm>

#include "executor/schedule/families.h"

namespace podium::schedule {

// Micro-batches go through the chunks of a processor in groups: a group is through with one chunk before it
// begins with the next one.
Orders interleaved(const Request& request) {
  const int p = request.processors;
  const int m = request.micro_batches;
  const int group = m / std::max(1, m / p);
  const int all = m * request.chunks;
  const auto at = [&](int r, int place, Pass pass) {
    const int in_group = place % (group * request.chunks);
    const int turn = in_group / group;
    const int chunk = pass == Pass::Forward ? turn : request.chunks - 1 - turn;
    const int micro_batch = place / (group * request.chunks) * group + in_group % group;
    return Action{pass, chunk * p + r, micro_batch};
  };
  Orders orders(p);
  for (int r = 0; r < p; ++r) {
    const int ahead = std::min(2 * (p - 1 - r) + (request.chunks - 1) * group, all);
    for (int place = 0; place < all + ahead; ++place) {
      if (place < all) orders[r].push_back(at(r, place, Pass::Forward));
      if (place >= ahead) orders[r].push_back(at(r, place - ahead, Pass::Backward));
    }
  }
  return orders;
}

Orders breadth_first(const Request& request) {
  Orders orders(request.processors);
  for (int r = 0; r < request.processors; ++r) {
    const auto add = [&](Pass pass, int chunk) {
      for (int k = 0; k < request.micro_batches; ++k) {
        orders[r].push_back({pass, chunk * request.processors + r, k});
      }
    };
    for (int chunk = 0; chunk < request.chunks; ++chunk) add(Pass::Forward, chunk);
    for (int chunk = request.chunks - 1; chunk >= 0; --chunk) add(Pass::Backward, chunk);
  }
  return orders;
}

}  // namespace podium::schedule
