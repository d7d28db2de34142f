#pragma once

#include <type_traits>

namespace whilst {

/// How the damping of Levenberg and Marquardt follows what became of the last step.
enum class damping_kind : int {
  nielsen,  ///< by how well the model was right: H. B. Nielsen, "Damping parameter in Marquardt's method", report
            ///< IMM-REP-1999-05, DTU (1999)
  classic   ///< a tenth after a step that was taken, else ten times: D. W. Marquardt, J. SIAM 11 (1963)
};

struct damping_settings {
  /// The first damping, in units of the diagonal of the matrix; as it is where nobody knows that.
  double first = 1e-3;
  damping_kind kind = damping_kind::nielsen;
};
static_assert(sizeof(damping_settings) % 8 == 0 && std::is_trivially_copyable_v<damping_settings>);

}  // namespace whilst
