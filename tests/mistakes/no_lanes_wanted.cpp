// refused: then the team, if it says lanes_wanted() or whole_block
#include "whilst/engine/recorder.hpp"

using namespace whilst;

struct row_sums {
  double* x;
  int lane_wanted() const { return 8; }
  template <class Team>
  void operator()(index_type i, const Team& team) const {
    if (team.rank() == 0) x[i] = 1;
  }
};

void record(recorder& run, row_sums map) { run.step("x = 1", 10, map); }
