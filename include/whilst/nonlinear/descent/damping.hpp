#pragma once

#include <type_traits>

namespace whilst {

/// How Levenberg-Marquardt adapts its damping to the outcome of the last step.
enum class damping_kind : int {
  nielsen,  ///< by how well the model predicted the gain: H. B. Nielsen, "Damping parameter in Marquardt's method",
            ///< report IMM-REP-1999-05, DTU (1999)
  classic   ///< a tenth after an accepted step, otherwise ten times: D. W. Marquardt, J. SIAM 11 (1963)
};

struct damping_settings {
  /// The first damping, in units of the matrix's diagonal; absolute where the diagonal is unknown.
  double first = 1e-3;
  damping_kind kind = damping_kind::nielsen;
};
static_assert(sizeof(damping_settings) % 8 == 0 && std::is_trivially_copyable_v<damping_settings>);

}  // namespace whilst
