#include "solvers/linear/approximate_inverse/approximate_inverse.hpp"
#include "solvers/linear/preconditioners/preconditioner_table.hpp"

namespace whilst {
namespace {

std::vector<preconditioner_setting> settings_of_spai(linear_solver_options& options) {
  fsai_options& fsai = options.fsai;
  return {{"power", &fsai.power}, {"drop", &fsai.drop}, {"most", &fsai.most}, {"precision", &fsai.precision}};
}
std::vector<preconditioner_setting> settings_of_fsai(linear_solver_options& options) {
  std::vector<preconditioner_setting> settings = settings_of_spai(options);
  settings.push_back({"order", &options.fsai.order});
  return settings;
}

void check_spai(const refuse_setting& refuse, const linear_solver_options& options) {
  const fsai_options& fsai = options.fsai;
  if (fsai.power < 1 || fsai.power > 32) refuse("power is " + std::to_string(fsai.power), "Use 1 to 32");
  if (!(fsai.drop >= 0 && fsai.drop <= 1)) refuse("drop is " + std::to_string(fsai.drop), "Use 0 to 1");
  if (fsai.most < 1 || fsai.most > 32) refuse("most is " + std::to_string(fsai.most), "Use 1 to 32");
  const std::string& precision = fsai.precision;
  if (precision != "auto" && precision != "bfloat16" && precision != "float" && precision != "double")
    refuse("precision is '" + precision + "'", "Use one of auto, bfloat16, float, double");
}
void check_fsai(const refuse_setting& refuse, const linear_solver_options& options) {
  check_spai(refuse, options);
  const std::string& order = options.fsai.order;
  if (order != "none" && order != "alternating" && order != "random")
    refuse("order is '" + order + "'", "Use one of none, alternating, random");
}

template <class T, approximate_inverse_kind kind>
std::unique_ptr<matrix_preconditioner<T>> approximate_inverse_for(const matrix_to_precondition<T>& matrix,
                                                                  const method_needs&,
                                                                  const linear_solver_options& options) {
  return make_approximate_inverse<T>(matrix.on_place, kind, options.fsai);
}

template <approximate_inverse_kind kind>
constexpr preconditioner_description description_of_approximate_inverse(const char* name) {
  constexpr bool is_fsai = kind == approximate_inverse_kind::fsai;
  return {.name = name,
          .prefix = "fsai",
          .contents = "the approximate inverse of",
          .differs_for_symmetric = false,
          .hears_of_values = false,
          .symmetric_instead = is_fsai ? nullptr : "fsai",
          .settings = is_fsai ? settings_of_fsai : settings_of_spai,
          .check = is_fsai ? check_fsai : check_spai,
          .make_of_float = approximate_inverse_for<float, kind>,
          .make_of_double = approximate_inverse_for<double, kind>};
}

}  // namespace

const preconditioner_description& fsai_description() {
  static constexpr auto fsai = description_of_approximate_inverse<approximate_inverse_kind::fsai>("fsai");
  return fsai;
}
const preconditioner_description& spai_description() {
  static constexpr auto spai = description_of_approximate_inverse<approximate_inverse_kind::spai>("spai");
  return spai;
}

}  // namespace whilst
