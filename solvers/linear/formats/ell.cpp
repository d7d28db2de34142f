// compiled for each number type, by nvcc where CUDA is on
#include "solvers/linear/formats/gathered_matrix.hpp"
#include "whilst/linear/products.hpp"
#include "whilst/linear/sliced_operator.hpp"

namespace whilst {
namespace {

struct y_alone : product_alone {
  static constexpr int blocks_wanted = 4;
};

template <class T, class Offset>
class ell_matrix final : public patterned_matrix<T> {
  using matrix = sliced_operator<csr_operator<T, Offset, constant_slot<const T>>>;

 public:
  ell_matrix(const solve_request<T>& csr, bool rounds)
      : patterned_matrix<T>(csr), A_(csr_of<Offset>(csr), nullptr, rounds) {}

  void take_memory(workspace& memory) override { A_ = A_.with_memory(memory); }
  void prepare(recorder& run) const override { with_values().prepare(run); }
  index_type bytes_a_product(int value_bytes) const override { return A_.bytes_read(value_bytes); }
  void apply(recorder& run, const T* x, T* y) const override {
    product(run, "y = A x", with_values(), x, y, y_alone());
  }

 private:
  matrix with_values() const {
    matrix A = A_;
    A.values = this->values_of_csr();
    return A;
  }

  matrix A_;
};

}  // namespace

template <class T>
std::unique_ptr<formatted_matrix<T>> make_ell_matrix(const solve_request<T>& csr, bool in_float) {
  if (csr.offsets_64) return std::make_unique<ell_matrix<T, std::int64_t>>(csr, in_float);
  return std::make_unique<ell_matrix<T, std::int32_t>>(csr, in_float);
}
template std::unique_ptr<formatted_matrix<WHILST_NUMBER>> make_ell_matrix(const solve_request<WHILST_NUMBER>&, bool);

}  // namespace whilst
