// Tells ThreadSanitizer what it cannot see, as OpenMP's library is not built for it: what was written before
// a parallel region is there for its threads, and what they have written is there for whoever comes after it.
// Nothing is said about threads of one region, so their races are found. Stands before the library's
// functions of the same names.
#include <dlfcn.h>
#include <sanitizer/tsan_interface.h>

namespace {

using Body = void (*)(void*);

struct Region {
  Body body;
  void* data;
  char begin = 0;  // only their addresses matter
  char end = 0;
};

void run_in_region(void* of) {
  auto& region = *static_cast<Region*>(of);
  __tsan_acquire(&region.begin);
  region.body(region.data);
  __tsan_release(&region.end);
}

template <class Function>
Function* library(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

template <class Run>
void in_region(Body body, void* data, const Run& run) {
  Region region{body, data};
  __tsan_release(&region.begin);
  run(&region);
  __tsan_acquire(&region.end);
}

}  // namespace

extern "C" void GOMP_parallel(Body body, void* data, unsigned threads, unsigned flags) {
  static auto* const original = library<decltype(GOMP_parallel)>("GOMP_parallel");
  in_region(body, data, [&](void* region) { original(run_in_region, region, threads, flags); });
}

// A loop with schedule(dynamic).
extern "C" void GOMP_parallel_loop_nonmonotonic_dynamic(Body body, void* data, unsigned threads, long first,
                                                        long end, long step, long chunk, unsigned flags) {
  static auto* const original =
      library<decltype(GOMP_parallel_loop_nonmonotonic_dynamic)>("GOMP_parallel_loop_nonmonotonic_dynamic");
  in_region(body, data,
            [&](void* region) { original(run_in_region, region, threads, first, end, step, chunk, flags); });
}
