// The main of every test program.
#include <gmock/gmock.h>
#include <unistd.h>

#include <cstdlib>

int main(int count, char** words) {
  // OpenMP's threads sleep while they wait: ops of a test are small, and other programs are at work beside
  // it. OpenMP reads its environment before main begins, so the program starts over; the programs that it
  // starts take it over.
  if (std::getenv("OMP_WAIT_POLICY") == nullptr && setenv("OMP_WAIT_POLICY", "passive", 0) == 0) {
    execv("/proc/self/exe", words);
  }
  testing::InitGoogleMock(&count, words);
  return RUN_ALL_TESTS();
}
