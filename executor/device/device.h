// The machine, as numbers. Everything the simulator knows of it is here.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace podium::device {

/// Multiply-adds per cycle of one tile's matrix unit.
struct MatrixRate {
  double half_half = 64;    ///< 16-bit operands, 16-bit partial sums
  double half_single = 32;  ///< 16-bit operands, 32-bit partial sums
  double single = 16;       ///< 32-bit operands
};

/// How the processors of a pod reach each other.
enum class Topology : std::uint8_t {
  AllToAll,  ///< every pair has its own link
  Ladder,    ///< pairs (2k, 2k+1) are the rungs, rails go up and down
  Torus      ///< a ladder whose ends meet
};

/// One hop between two processors, per direction.
struct Link {
  double bytes_per_second = 0;
  double latency_seconds = 0;
};

struct Device {
  std::string name;
  int processors = 1;
  int tiles = 1472;                         ///< of a processor
  double clock_hertz = 1.33e9;
  std::int64_t tile_memory_bytes = 638976;  ///< of a tile
  int worker_threads = 6;                   ///< of a tile

  MatrixRate matrix = {};
  double vector_bytes_per_cycle = 8;        ///< of a tile: one load, operation or store of so many bytes a cycle
  double exchange_bytes_per_cycle = 4;      ///< that a tile receives from the others
  double copy_bytes_per_cycle = 8;          ///< inside a tile
  double phase_overhead_cycles = 600;       ///< of one compute and exchange superstep
  double matrix_overhead_half_cycles = 1200;    ///< fixed cost of a matrix product
  double matrix_overhead_single_cycles = 800;
  double matrix_weights_half_cycles = 1400;     ///< for loading a group of 16 x 64 weights
  double matrix_weights_single_cycles = 4000;

  bool synchronous = true;  ///< an exchange is a barrier of its sync group and stops its processors' compute
  double sync_cycles = 100;                ///< inside one processor
  double global_sync_seconds = 0.45e-6;    ///< between processors

  Topology topology = Topology::Ladder;
  Link rung = {};            ///< to the partner of the pair
  Link rail = {};            ///< to the neighbour pair
  int processors_per_host = 4;  ///< that share one gateway to the host and one to other machines
  Link gateway = {};         ///< between machines, per machine; 0: rails go on
  Link host = {};            ///< per processor
  double host_call_seconds = 128e-6;        ///< of one run
  Link streaming_load = {};  ///< from streaming memory, per processor
  Link streaming_store = {};
  std::int64_t streaming_memory_bytes = 0;  ///< per processor

  double code_bytes_per_op = 0;             ///< estimate, per op and processor
  double exchange_code_bytes_per_step = 0;  ///< estimate, per exchange step and processor
  double idle_watts = 0;
  double matrix_watts = 0;                  ///< at full use of the matrix units

  std::int64_t memory_bytes() const { return tiles * tile_memory_bytes; }
};

}  // namespace podium::device
