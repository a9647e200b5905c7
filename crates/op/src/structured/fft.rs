//! Rows: Fourier transforms.

structured! {
    FFT,       "fft.fft",       Spectrum,  Float32, Element, "The discrete Fourier transform along a dimension.";
    IFFT,      "fft.ifft",      Spectrum,  Float32, Element, "The inverse of the discrete Fourier transform along a dimension.";
    RFFT,      "fft.rfft",      Spectrum,  Float32, Real,    "The half of a real signal's transform that determines the rest.";
    IRFFT,     "fft.irfft",     Magnitude, Float32, Element, "The real signal of half a transform.";
    HFFT,      "fft.hfft",      Magnitude, Float32, Element, "The real transform of a Hermitian signal, half of which is given.";
    IHFFT,     "fft.ihfft",     Spectrum,  Float32, Real,    "The half of a Hermitian signal whose transform is real.";
    FFT2,      "fft.fft2",      Spectrum,  Float32, Element, "The transform along two dimensions.";
    IFFT2,     "fft.ifft2",     Spectrum,  Float32, Element, "The inverse transform along two dimensions.";
    RFFT2,     "fft.rfft2",     Spectrum,  Float32, Real,    "Half the transform of a real signal along two dimensions.";
    IRFFT2,    "fft.irfft2",    Magnitude, Float32, Element, "The real signal of half a transform along two dimensions.";
    HFFT2,     "fft.hfft2",     Magnitude, Float32, Element, "The real transform of a Hermitian signal along two dimensions.";
    IHFFT2,    "fft.ihfft2",    Spectrum,  Float32, Real,    "Half the Hermitian signal of a real transform along two dimensions.";
    FFTN,      "fft.fftn",      Spectrum,  Float32, Element, "The transform along several dimensions.";
    IFFTN,     "fft.ifftn",     Spectrum,  Float32, Element, "The inverse transform along several dimensions.";
    RFFTN,     "fft.rfftn",     Spectrum,  Float32, Real,    "Half the transform of a real signal along several dimensions.";
    IRFFTN,    "fft.irfftn",    Magnitude, Float32, Element, "The real signal of half a transform along several dimensions.";
    HFFTN,     "fft.hfftn",     Magnitude, Float32, Element, "The real transform of a Hermitian signal along several dimensions.";
    IHFFTN,    "fft.ihfftn",    Spectrum,  Float32, Real,    "Half the Hermitian signal of a real transform along several dimensions.";
    FFTSHIFT,  "fft.fftshift",  Element,   Keep,    Element, "The frequencies in order, zero in the middle.";
    IFFTSHIFT, "fft.ifftshift", Element,   Keep,    Element, "The frequencies as transforms have them, zero first.";
    STFT,      "stft",          Spectrum,  Float32, Element, "The transforms of windows that slide along a signal.";
    ISTFT,     "istft",         Magnitude, Float32, Element, "The signal of which `stft` gives these transforms.";
}
