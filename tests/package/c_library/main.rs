// The C interface from Rust: main MODELS.
use std::ffi::{c_char, c_double, c_float, c_void, CStr, CString};
use std::ptr::null;

extern "C" {
    fn bf_aot_abi() -> i32;
    fn bf_aot_error_text(error: *const c_void) -> *const c_char;
    fn bf_aot_model_load(path: *const c_char, model: *mut *mut c_void) -> *mut c_void;
    fn bf_aot_model_free(model: *mut c_void);
    fn bf_aot_verifier_make(model: *const c_void, options: *const c_void, rows: *const c_double,
                            offsets: *const c_double, count: usize, verifier: *mut *mut c_void) -> *mut c_void;
    fn bf_aot_verifier_bounds(verifier: *const c_void, lower: *const c_double, upper: *const c_double, boxes: usize,
                              out_lower: *mut c_float, out_upper: *mut c_float) -> *mut c_void;
    fn bf_aot_verifier_free(verifier: *mut c_void);
}

fn check(error: *mut c_void) {
    if !error.is_null() {
        panic!("{}", unsafe { CStr::from_ptr(bf_aot_error_text(error)) }.to_string_lossy());
    }
}

fn main() {
    let path = CString::new(std::env::args().nth(1).unwrap() + "/digits_64x2.onnx").unwrap();
    let (mut model, mut verifier) = (std::ptr::null_mut(), std::ptr::null_mut());
    let (lower, upper) = ([0.45f64; 64], [0.5f64; 64]);
    let (mut low, mut high) = ([0f32; 10], [0f32; 10]);
    unsafe {
        assert_eq!(bf_aot_abi(), 1);
        check(bf_aot_model_load(path.as_ptr(), &mut model));
        check(bf_aot_verifier_make(model, null(), null(), null(), 0, &mut verifier));
        check(bf_aot_verifier_bounds(verifier, lower.as_ptr(), upper.as_ptr(), 1, low.as_mut_ptr(), high.as_mut_ptr()));
        bf_aot_verifier_free(verifier);
        bf_aot_model_free(model);
    }
    println!("output 0: [{}, {}]", low[0], high[0]);
}
